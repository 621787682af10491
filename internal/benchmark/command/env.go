package command

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// env is where and how the run is made.
func (s *settings) env(ctx context.Context, pinned *int) benchmark.Env {
	r := &s.runner
	env := benchmark.Env{
		Go:        runtime.Version(),
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		CPU:       known(benchmark.Processor()),
		CPUs:      runtime.NumCPU(),
		Commit:    known(commit(ctx)),
		Server:    "redis",
		Addresses: r.Servers.Addresses,
		Pinned:    pinned,
		RTTms:     milliseconds(s.rtt),
		Pool:      r.Servers.Pool(),
		TTLms:     milliseconds(r.TTL),
		TimeoutMs: milliseconds(r.Timeout),
		Crash:     r.Crash,
		Overrun:   r.Overrun,
	}
	if r.Servers.Embedded() {
		env.Server = "miniredis"
	}
	env.ServerVersion = known(r.Servers.Version)
	if r.Seed != 0 {
		env.Seed = &r.Seed
	}
	return env
}

// environment is the part of the header that names where the run is made.
func environment(env benchmark.Env, started bool) string {
	server := "Embedded miniredis, in this process"
	if env.Server != "miniredis" {
		server = "Redis"
		if env.ServerVersion != nil {
			server += " " + *env.ServerVersion
		}
		if started {
			server += fmt.Sprintf(", %s started for this run",
				plural(len(env.Addresses), "server"))
		} else {
			server += " at " + strings.Join(env.Addresses, ", ")
		}
	}
	machine := fmt.Sprintf("%d CPUs", env.CPUs)
	if env.CPU != nil {
		machine += " (" + *env.CPU + ")"
	}
	if env.Pinned != nil {
		machine += fmt.Sprintf(", all on CPU %d", *env.Pinned)
	}
	text := fmt.Sprintf("%s; %s %s/%s,\n%s", server, env.Go, env.OS, env.Arch,
		machine)
	if env.Commit != nil {
		text += "; commit " + *env.Commit
	}
	return text + "."
}

// commit is that of the program, "" when it was not built in its repository.
// go run does not note it, so git is asked then.
func commit(ctx context.Context) string {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			settings[setting.Key] = setting.Value
		}
	}
	revision := settings["vcs.revision"]
	changed := settings["vcs.modified"] == "true"
	if revision == "" {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		git := func(args ...string) string {
			out, err := exec.CommandContext(ctx, "git", args...).Output()
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(out))
		}
		if revision = git("rev-parse", "HEAD"); revision == "" {
			return ""
		}
		changed = git("status", "--porcelain", "--untracked-files=no") != ""
	}
	revision = revision[:min(len(revision), 12)]
	if changed {
		revision += "+"
	}
	return revision
}

// known is nil for what is not known.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}
