// Package programs names the locks of other languages that are run here. Each is a
// program in a folder beside this file, which translates between the library and the
// protocol of docs/any-language.md and adds nothing. Beside it stand the library's
// version, in the language's own lock file, and flaws.txt, with the invariants that
// the lock is known to break.
//
// docs/libraries.md shows what they do in the scenarios, and says why.
package programs

import (
	"path/filepath"
	"strings"
)

// Program is one lock.
type Program struct {
	Name    string // what a column of docs/libraries.md calls it
	Library string // and its version
	Address string // where the library is at home
	Dir     string // its folder

	// Install is a line for a shell in that folder, which gets the library and
	// builds the program. The files it makes are not under version control.
	Install string

	// Makes is a file that it makes.
	Makes string

	// Command starts the program, in this package's folder.
	Command []string

	// Archive does so, too, and keeps at its end what the program has loaded. A
	// Command finds it and starts with half of the work. Nil for most.
	Archive []string

	// Workload starts the program that sells a stock behind the lock, for the benchmark;
	// nil where there is none.
	Workload []string

	Nodes int    // independent servers
	Flaws string // the file in its folder
	Idea  string

	// Page has the reference of the library, with the reason for each flaw; "" is
	// libraries.md.
	Page string
}

// WorkloadIn is Workload in another working directory, from which folder leads to this
// package's.
func (p Program) WorkloadIn(folder string) []string {
	var args []string
	for _, arg := range p.Workload {
		if strings.HasPrefix(arg, p.Dir+"/") {
			var paths []string
			for path := range strings.SplitSeq(arg, ":") { // a class path has several
				paths = append(paths, filepath.Join(folder, path))
			}
			arg = strings.Join(paths, ":")
		}
		args = append(args, arg)
	}
	return args
}

const (
	venv = "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt"
	npm  = "npm ci --silent"

	atGitHub = "https://github.com/"
)

// redissons is one of Redisson's locks. Every scenario starts several processes, which
// live for seconds: Java's options make them start with less work. Events for Java's
// flight recorder, which nobody records, took a fifth of it. Java archives only what is
// in jars, and says on standard output when it can't use an archive.
func redissons(name, kind string, nodes int, flaws, idea string) Program {
	const classes = "redisson/target/redisson-program-1.jar:redisson/target/dependency/*"
	const archive = "redisson/target/classes.jsa"
	java := func(option string) []string {
		return []string{"java", option, "-Xlog:disable", "-XX:TieredStopAtLevel=1",
			"-XX:CompileThresholdScaling=5", "-XX:+UseSerialGC",
			"-Dio.netty.jfr.enabled=false", "-cp", classes, "Program", kind}
	}
	p := Program{Name: name, Library: "Redisson 4.7.0",
		Address: atGitHub + "redisson/redisson", Dir: "redisson",
		Install: "mvn -q package dependency:copy-dependencies",
		Makes:   "target/classes/Workload.class",
		Command: java("-XX:SharedArchiveFile=" + archive),
		Archive: java("-XX:ArchiveClassesAtExit=" + archive),
		Nodes:   nodes, Flaws: flaws, Idea: idea, Page: "redisson.md"}
	if nodes == 1 && kind != "readwrite" {
		p.Workload = []string{"java", "-cp", classes, "Workload", kind}
	}
	return p
}

// Programs are all of them.
var Programs = []Program{
	redissons("redisson", "lock", 1, "flaws.txt",
		"`RLock`: a re-entrant hash, renewed; waiters are woken"),
	redissons("redisson-fair", "fair", 1, "flaws-fair.txt",
		"`RFairLock`: the same with a queue"),
	redissons("redisson-rw", "readwrite", 1, "flaws-readwrite.txt",
		"`RReadWriteLock`: readers share it"),
	redissons("redisson-red", "red", 5, "flaws-red.txt",
		"`RedissonRedLock`: a majority of five `RLock`s"),
	{Name: "redis-py", Library: "redis-py 8.1.0", Address: atGitHub + "redis/redis-py",
		Dir: "redis-py", Install: venv,
		Makes:   ".venv/bin/python",
		Command: []string{"redis-py/.venv/bin/python", "redis-py/mylock.py"}, Nodes: 1,
		Workload: []string{"redis-py/.venv/bin/python", "redis-py/workload.py"},
		Flaws:    "flaws.txt", Idea: "`Lock`: a token, and scripts that compare it"},
	{Name: "pottery", Library: "pottery 3.0.1",
		Address: atGitHub + "brainix/pottery", Dir: "pottery", Install: venv,
		Command: []string{"pottery/.venv/bin/python", "pottery/program.py"}, Nodes: 5,
		Flaws: "flaws.txt", Idea: "`Redlock` on five nodes, asked at once"},
	{Name: "node-redlock", Library: "redlock 5.0.0-beta.2",
		Address: atGitHub + "mike-marcacci/node-redlock", Dir: "node", Install: npm,
		Command: []string{"node", "node/redlock.js"}, Nodes: 5,
		Flaws: "flaws-redlock.txt",
		Idea:  "Redlock on five nodes; `using` renews it"},
	{Name: "redis-semaphore", Library: "redis-semaphore 5.8.0",
		Address: atGitHub + "swarthy/redis-semaphore", Dir: "node", Install: npm,
		Makes:   "node_modules/redis-semaphore/package.json",
		Command: []string{"node", "node/redis-semaphore.js"}, Nodes: 1,
		Workload: []string{"node", "node/workload.js"},
		Flaws:    "flaws-redis-semaphore.txt", Idea: "`Mutex`: a token, renewed"},
	{Name: "rslock", Library: "rslock 0.10.0",
		Address: atGitHub + "hexcowboy/redlock-async-rs", Dir: "rslock",
		Install: "cargo build --locked --quiet",
		Command: []string{"rslock/target/debug/rslock-program"}, Nodes: 3,
		Flaws: "flaws.txt", Idea: "Redlock on three nodes, asked at once"},
	{Name: "symfony", Library: "Symfony Lock 5.4.53",
		Address: atGitHub + "symfony/lock", Dir: "symfony", Install: "php -v >/dev/null",
		Command: []string{"php", "symfony/program.php"}, Nodes: 1, Flaws: "flaws.txt",
		Idea: "`RedisStore`: a sorted set of tokens by the ends of their leases"},
}
