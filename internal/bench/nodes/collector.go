package nodes

import (
	"os"
	"runtime"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// garbage is how much a round on real servers may leave behind before the
// collector comes.
const garbage = 256 << 20

// CollectorStaysAway tells whether garbage is collected between the rounds on real
// servers, and not in them: unless GOGC or GOMEMLIMIT says otherwise.
func CollectorStaysAway() bool {
	return os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == ""
}

// Tidy collects what was left behind so far, so that no row pays for the one
// before it. Where the collector stays away, it does so until the function that
// is returned is called: on one CPU it would stand between a command
// and its reply for milliseconds, and the longest wait of a row would be its
// work. It comes all the same when the process has grown by as much as garbage.
func (s *Servers) Tidy() (end func()) {
	runtime.GC()
	if len(s.Addresses) == 0 || !CollectorStaysAway() {
		return func() {}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return process.CollectLater(-1, int64(m.Sys-m.HeapIdle+garbage))
}
