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
func compile(code string) *whatif.Program {
	compiled := js.Global().Call("lockladderCompile", code)
	if compiled.IsNull() {
		return nil
	}
	return &whatif.Program{File: compiled.Get("file").String(),
		Waits: compiled.Get("waits").Bool(), Renews: compiled.Get("renews").Bool(),
		Owner: func(key string, ttl time.Duration) whatif.Owner {
			owner := compiled.Call("owner", key, ttl.Milliseconds())
			return func(function string) whatif.Call {
				return resumed(owner.Invoke(function))
			}
		}}
}

func resumed(call js.Value) whatif.Call {
	return func(r whatif.Resume) (step whatif.Step) {
		text, _ := json.Marshal(r) // it has only what JSON has
		if err := json.Unmarshal([]byte(call.Invoke(string(text)).String()), &step); err != nil {
			panic(err)
		}
		return step
	}
}
