package run

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios/soak/internal/worker"
)

// keeper lets a worker live as long as descriptor 3 is open. Its other end closes
// however the soak ends, and no worker outlives it, not even a stopped one.
const keeper = `
trap '' INT TERM HUP
exec 4<&0
"$@" <&4 3<&- 4<&- &
worker=$!
exec 4<&- 1>&-
cat <&3 >/dev/null
kill -9 $worker 2>/dev/null
wait $worker 2>/dev/null`

// process is the soak's end of a worker.
type process struct {
	cmd   *exec.Cmd // its shell
	pid   int       // its own
	alive *os.File  // while it is open the worker lives
	words io.WriteCloser
	said  chan string // closed when the worker has ended
	log   strings.Builder
}

// patience is how long a worker may take to answer.
const patience = time.Minute

// start starts this program once more, as a worker, and waits until it is ready.
func start(o worker.Orders) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	life, alive, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	defer life.Close()
	p := &process{cmd: exec.Command("sh", "-c", keeper, "keeper", self),
		alive: alive, said: make(chan string, 4)}
	servers.Detach(p.cmd) // Ctrl-C is for the soak, which then ends in order
	p.cmd.Env = append(os.Environ(), worker.Variable+"=1")
	p.cmd.Stderr = &p.log
	p.cmd.ExtraFiles = []*os.File{life}
	var out io.ReadCloser
	if p.words, err = p.cmd.StdinPipe(); err == nil {
		if out, err = p.cmd.StdoutPipe(); err == nil {
			err = p.cmd.Start()
		}
	}
	if err != nil {
		alive.Close()
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	go func() { // ends with the worker, which kill or end ends and joins
		defer close(p.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.said <- lines.Text()
		}
	}()
	if err := json.NewEncoder(p.words).Encode(o); err != nil {
		p.kill()
		return nil, fmt.Errorf("order a worker: %w", err)
	}
	word, err := p.hear(worker.Ready)
	if err == nil {
		p.pid, err = strconv.Atoi(word)
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// hear waits until the worker says a word, and returns what follows it.
func (p *process) hear(word string) (string, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, ok := <-p.said:
		if !ok {
			p.kill()
			return "", fmt.Errorf("a worker has ended: %s",
				strings.TrimSpace(p.log.String()))
		}
		rest, ok := strings.CutPrefix(line, word)
		if !ok {
			return "", fmt.Errorf("a worker says %q instead of %q", line, word)
		}
		return strings.TrimSpace(rest), nil
	case <-timer.C:
		return "", fmt.Errorf("a worker doesn't say %q", word)
	}
}

// say sends the worker a word.
func (p *process) say(word string) error {
	if _, err := fmt.Fprintln(p.words, word); err != nil {
		return fmt.Errorf("order a worker: %w", err)
	}
	return nil
}

// ended says whether the worker has ended although nobody has ended it.
func (p *process) ended() bool {
	select {
	case _, ok := <-p.said:
		return !ok
	default:
		return false
	}
}

// kill ends the worker as kill -9 does, and joins it.
func (p *process) kill() {
	if p.pid > 0 {
		signalKill(p.pid) // before its shell wakes up
	}
	p.alive.Close()
	p.words.Close()
	for range p.said {
	}
	p.cmd.Wait()
}
