package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
)

// environment is where and how the run is made.
func (o *options) environment(ctx context.Context) bench.Env {
	servers := o.servers
	typed := regexp.MustCompile(`(?m)^(.*[^\w,./:=\n-].*|)$`).ReplaceAllString(strings.Join(os.Args[1:], "\n"), "'$1'")
	env := bench.Env{
		Date:          time.Now().Format("2006-01-02 15:04 MST"),
		Command:       "go run ./bench " + strings.ReplaceAll(typed, "\n", " "),
		How:           o.plan.Header,
		Go:            runtime.Version(),
		OS:            runtime.GOOS,
		Arch:          runtime.GOARCH,
		CPU:           known(processor()),
		CPUs:          runtime.NumCPU(),
		Commit:        known(commit(ctx)),
		Server:        servers.Product,
		ServerVersion: known(servers.Version),
		Addresses:     servers.Addresses,
		Pool:          servers.Pool(),
		RTTms:         bench.Milliseconds(o.plan.Config.RTT),
		TTLms:         bench.Milliseconds(o.job.TTL),
		TimeoutMs:     bench.Milliseconds(o.job.Timeout),
	}
	if servers.Embedded() {
		env.Server = "miniredis"
	}
	if cpu, is := onlyCPU(); is && (servers.Embedded() || o.started()) {
		env.Pinned = &cpu
	}
	if o.job.Seed != 0 {
		env.Seed = &o.job.Seed
	}
	return env
}

// where is the part of the header that names where the run is made.
func where(env bench.Env, started bool) string {
	server := "Embedded miniredis, in this process"
	if env.Server != "miniredis" {
		server = env.Named()
		if started {
			server += fmt.Sprintf(", %s started for this run", bench.Plural(len(env.Addresses), "server"))
		} else {
			server += " at " + strings.Join(env.Addresses, ", ")
		}
	}
	machine := bench.Plural(env.CPUs, "CPU")
	if env.CPU != nil {
		machine += " (" + *env.CPU + ")"
	}
	if env.Pinned != nil {
		machine += fmt.Sprintf(", all on CPU %d", *env.Pinned)
	}
	text := fmt.Sprintf("%s; %s %s/%s, %s", server, env.Go, env.OS, env.Arch, machine)
	if env.Commit != nil {
		text += "; commit " + *env.Commit
	}
	return text + "."
}

// commit is that of the program, "" when it was not built in its repository.
// go run does not note it, so git is asked then about the directory of the sources, in
// whatever directory the program runs.
func commit(ctx context.Context) string {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			settings[setting.Key] = setting.Value
		}
	}
	if revision := settings["vcs.revision"]; revision != "" {
		changed := map[string]string{"true": "+"}[settings["vcs.modified"]]
		return revision[:min(len(revision), 12)] + changed
	}
	_, source, _, _ := runtime.Caller(0)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", filepath.Dir(source)}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	// Of sources in a module cache, another repository may be around them.
	if git("ls-files", filepath.Base(source)) == "" {
		return ""
	}
	return git("describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+")
}

// onlyCPU is the CPU that this process has to itself, and the processes that it
// starts with it, if there is one: taskset -c 0 gives it number 0.
func onlyCPU() (cpu int, is bool) {
	cpu, err := strconv.Atoi(told("/proc/self/status", "Cpus_allowed_list"))
	return cpu, err == nil
}

// processor is the name of the CPU, "" when unknown.
func processor() string { return told("/proc/cpuinfo", "model name") }

// told is what Linux tells under a name in one of its files, "" elsewhere.
func told(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// known is nil for what is not known.
func known(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
