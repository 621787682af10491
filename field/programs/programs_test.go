package programs_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/programs"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// page shows what they do.
const page = "libraries.md"

// atOnce is how many scenarios run at the same time, each with two or three processes
// of a program.
const atOnce = 6

var onRedis = servers.Flag()

func TestMain(m *testing.M) { servers.Main(m, onRedis, len(programs.Programs)) }

func TestTheTableOfTheProgramsIsFresh(t *testing.T) {
	var b strings.Builder
	fmt.Fprint(&b, "| column | library | servers | what it is |\n|---|---|:-:|---|\n")
	for _, p := range programs.Programs {
		fmt.Fprintf(&b, "| %s | [%s](%s) | %d | %s |\n", p.Name, p.Library, p.Address,
			p.Nodes, p.Idea)
	}
	generated.Compare(t, page, "programs", b.String())
}

// A program is a model for others: short, as the page says.
func TestEveryProgramHasFewerThanAHundredLines(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*/*.py", "*/*.php", "*/*.js", "*/src/*.rs",
		"*/src/main/java/*.java"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		sources = append(sources, found...)
	}
	for _, file := range sources {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Less(t, strings.Count(string(text), "\n"), 100, file)
	}
}

func TestAPageExplainsEveryFlaw(t *testing.T) {
	for _, p := range programs.Programs {
		reference := cmp.Or(p.Page, page)
		text := generated.Text(t, reference, "")
		if p.Page == "" {
			heading := regexp.MustCompile(`(?i)\n## Reference: ` + p.Name + `\n`)
			parts := heading.Split(text, -1)
			require.Len(t, parts, 2, "%s has one section of the reference", p.Name)
			text, _, _ = strings.Cut(parts[1], "\n## ")
		}
		always, sometimes := flaws(t, p)
		assert.NotEmpty(t, always, p.Name)
		for _, f := range slices.Concat(always, sometimes) {
			assert.Contains(t, text, "`"+f.Scenario+"`", "%s doesn't say why %s breaks"+
				" it", reference, p.Name)
		}
	}
}

// The benchmark measures what this test leaves behind.
func TestEveryProgramCanBeInstalled(t *testing.T) {
	if *onRedis != servers.Auto {
		t.Skip("it installs libraries: -redis auto asks for it")
	}
	for _, p := range programs.Programs {
		install(t, p)
		if p.Makes != "" {
			assert.FileExists(t, filepath.Join(p.Dir, p.Makes))
		}
	}
}

// It installs the libraries, which needs their languages and the registries.
func TestEveryProgramBreaksWhatIsDeclaredAndNothingElse(t *testing.T) {
	if *onRedis != servers.Auto {
		t.Skip("it installs libraries and starts servers: -redis auto asks for it")
	}
	locks := make([]generated.Lock, len(programs.Programs))
	// The programs in Java keep a processor busy, with their starts alone. So one of
	// them runs beside one of the others, which mostly wait.
	var java, others sync.Mutex
	t.Run("programs", func(t *testing.T) {
		for i, p := range programs.Programs {
			t.Run(p.Name, func(t *testing.T) {
				install(t, p)
				t.Parallel()
				turn := &others
				if p.Archive != nil {
					turn = &java
				}
				turn.Lock()
				defer turn.Unlock()
				locks[i] = generated.Did(p.Name, run(t, p))
				_, sometimes := flaws(t, p)
				for _, f := range sometimes { // it breaks, if not in this run
					locks[i].Verdicts[f.Scenario+": "+f.Invariant] = scenarios.Breaks
				}
			})
		}
	})
	some := slices.ContainsFunc(locks, func(l generated.Lock) bool { return l.Name == "" })
	if !t.Failed() && !some { // -run may name some
		generated.CompareResults(t, "programs", locks...)
	}
}

var installed = map[string]bool{} // by folder, in this run

// install gets the library and builds the program, once.
func install(t *testing.T, p programs.Program) {
	if installed[p.Dir] {
		return
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", p.Install)
	cmd.Dir = p.Dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s: %s", p.Dir, p.Install, out)
	if p.Archive != nil {
		archive(t, p)
	}
	installed[p.Dir] = true
}

// archive lets the program keep what it loads until it has a lock.
func archive(t *testing.T, p programs.Program) {
	pool := servers.Asked(t, servers.Auto)
	lent, err := pool.Borrow(t.Context(), 1)
	require.NoError(t, err)
	defer pool.Return(lent)
	user, password := lent[0].Auth()
	node := protocol.Node{Address: lent[0].Addr(), User: user, Password: password}
	var session bytes.Buffer
	lines := json.NewEncoder(&session)
	for _, request := range []protocol.Request{
		{ID: 1, Type: protocol.Hello, Protocol: protocol.Version, Nodes: []protocol.Node{node}},
		{ID: 2, Type: protocol.Build, Owner: "A", Key: "archive", Lease: 10_000},
		{ID: 3, Type: protocol.TryLock, Owner: "A"},
	} {
		require.NoError(t, lines.Encode(request))
	}
	cmd := exec.CommandContext(t.Context(), p.Archive[0], p.Archive[1:]...)
	cmd.Stdin = &session
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), `"type":"ok"`, "it has built a lock")
}

// run runs all scenarios that apply against a program.
func run(t *testing.T, p programs.Program) scenarios.Report {
	pool := servers.Asked(t, *onRedis)
	lent, err := pool.Borrow(t.Context(), 1)
	require.NoError(t, err)
	user, password := lent[0].Auth()
	found, err := protocol.Find(t.Context(), lent[0].Addr(), user, password, p.Command...)
	pool.Return(lent)
	require.NoError(t, err)
	t.Cleanup(found.Close)
	require.Equal(t, p.Nodes, found.Nodes())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with the run
		select {
		case <-found.Failed():
			t.Error(found.Err())
		case <-ctx.Done():
		}
	}()
	always, sometimes := flaws(t, p)
	return scenarios.Run(t, found.Build, append(scenarios.Offered(found),
		scenarios.OnServersOf(servers.Limited(pool, atOnce)),
		scenarios.Flaws(always...), scenarios.Sometimes(sometimes...))...)
}

// flaws are what a program is known to break, always and in some runs.
func flaws(t *testing.T, p programs.Program) (always, sometimes []lock.Flaw) {
	text, err := os.ReadFile(filepath.Join(p.Dir, p.Flaws))
	require.NoError(t, err)
	always, sometimes, err = scenarios.ReadFlaws(string(text))
	require.NoError(t, err, p.Flaws)
	return always, sometimes
}
