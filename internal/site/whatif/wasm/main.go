//go:build js && wasm

// Wasm is the laboratory as a program for a browser: it answers what a page asks it,
// until the page is closed.
//
// It sets the function lockladder(question, reply) and then calls
// lockladderReady(). The function calls reply with the answer when it is there. A lock
// that a learner writes is run by lockladderCompile, of laboratory-worker.js.
package main

import (
	"encoding/json"
	"flag"
	"runtime"
	"runtime/debug"
	"syscall/js"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/site/whatif"
	"github.com/lockladder/lockladder/internal/site/whatif/coroutine"
)

func main() {
	testing.Init()
	flag.CommandLine.Parse(nil)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(mostMemory)
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Laboratory", F: serve}}, nil, nil)
}

// mostMemory is how much memory a run may take before its garbage is collected. A
// browser gives Go one thread, so that a collection keeps the run waiting; a run's
// garbage is collected when its answer is out.
const mostMemory = 256 << 20

// question is one that a page asks.
type question struct {
	text  string
	reply js.Value
}

func serve(t *testing.T) {
	asked := make(chan question, 16)
	js.Global().Set("lockladder", js.FuncOf(func(_ js.Value, args []js.Value) any {
		asked <- question{args[0].String(), args[1]}
		return nil
	}))
	js.Global().Call("lockladderReady")
	for q := range asked {
		var answer string
		t.Run("run", func(t *testing.T) { answer = whatif.Respond(t, q.text, compile) })
		q.reply.Invoke(answer)
		runtime.GC()
	}
}

// compile makes a learner's lock. The page's functions and those of the program speak JSON
// with each other.
func compile(code string) *coroutine.Program {
	compiled := js.Global().Call("lockladderCompile", code)
	if compiled.IsNull() {
		return nil
	}
	return &coroutine.Program{File: compiled.Get("file").String(),
		Waits: compiled.Get("waits").Bool(), Renews: compiled.Get("renews").Bool(),
		Owner: func(key string, ttl time.Duration) coroutine.Owner {
			owner := compiled.Call("owner", key, ttl.Milliseconds())
			return func(function string) coroutine.Call {
				return resumed(owner.Invoke(function))
			}
		}}
}

func resumed(call js.Value) coroutine.Call {
	return func(r coroutine.Resume) (step coroutine.Step) {
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal([]byte(call.Invoke(string(text)).String()), &step)
		}
		if err != nil {
			step = coroutine.Step{Thrown: err.Error()}
		}
		return step
	}
}
