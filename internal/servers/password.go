package servers

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// password is the password of all servers that this process starts, so
// that those of a cluster, and a master and its replica, know each other's. A
// client that has strayed to a server of another run is refused there.
var password = sync.OnceValue(rand.Text)

// configure writes a configuration file into the server's directory and returns
// its name. A password belongs there: other users can read the arguments of a
// process, and can't look into the directory.
func (s *server) configure(name, format string, args ...any) (string, error) {
	path := filepath.Join(s.dir, name)
	err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600)
	if err != nil {
		return path, fmt.Errorf("write a server's configuration: %w", err)
	}
	return path, nil
}
