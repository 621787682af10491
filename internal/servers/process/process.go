// Package process starts programs that are to end with this one or right after it.
//
// Launch starts one in a process group of its own, whose standard input ends with this
// process, however that ends, by return, by panic or by kill -9. One that is stopped at
// that moment hears nothing; Unix wakes it with SIGHUP, because its process group has lost
// its parent.
//
// A process that After has started is the opposite: it is this program once more, waits for
// its parent's end and then does its work.
package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

// variable is the environment variable that has the name of a process.
const variable = "LOCKLADDER_PROCESS"

// Name is what this process was started as, and empty in a process that was
// started by other means.
func Name() string { return os.Getenv(variable) }

// Environment is this process's, for one that is to know itself by that name.
func Environment(name string) []string {
	return append(os.Environ(), variable+"="+name)
}

// Launch starts a command in a process group of its own. Out has what it prints, also
// after its end, and the caller closes it.
func Launch(cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser, err error) {
	Detach(cmd)
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	// Not StdoutPipe: the last answers are heard after the end of the process.
	out, theirs, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	defer theirs.Close()
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// After starts this program, under a name that it knows by ServeAfter, and gives it an
// order for when this process has ended. The returned function lets the process begin at
// once, waits until it has ended, and returns an error when it has failed. The process's
// output goes to this process's standard error.
func After(name string, order any) (finish func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = Environment(name)
	Detach(cmd)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return nil, fmt.Errorf("tell %s: %w", name, errors.Join(err, in.Close(),
			cmd.Wait()))
	}
	return func() error {
		in.Close()
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}, nil
}

// ServeAfter does nothing unless this process was started by After under that name.
// Then it waits until its parent has ended, or wants it to begin, does the work, and
// exits, with status 1 and one line on standard error when the work fails.
func ServeAfter[Order any](name string, work func(Order) error) {
	if Name() != name {
		return
	}
	signal.Ignore(os.Interrupt) // a terminal's Ctrl-C is for the parent
	var order Order
	err := json.NewDecoder(os.Stdin).Decode(&order)
	if err == nil {
		io.Copy(io.Discard, os.Stdin) // until the parent ends
		err = work(order)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}
