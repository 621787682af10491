package field_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No program is found where the search path is empty.
func TestAStoreThatIsNotInstalledIsSaidInOneLine(t *testing.T) {
	for name, missing := range map[string]string{
		"mysql": "mariadb-install-db", "zookeeper": "java", "etcd": "etcd",
	} {
		t.Run(name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "test")
			out, err := exec.Command("go", "test", "-c", "-o", binary,
				"./"+name).CombinedOutput()
			require.NoError(t, err, "%s", out)
			run := func(asked string) (string, error) {
				cmd := exec.Command(binary)
				cmd.Dir = name
				cmd.Env = []string{"PATH=", "LOCKLADDER_STORES=" + asked,
					"TMPDIR=" + t.TempDir()}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			said, err := run("")
			assert.NoError(t, err)
			assert.Equal(t, missing+" is not installed: the tests that need it"+
				" are skipped\nPASS\n", said)
			said, err = run("1")
			assert.Error(t, err)
			assert.Equal(t, "LOCKLADDER_STORES asks for stores: "+missing+
				" is not installed\n", said)
		})
	}
}
