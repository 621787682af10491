// Package programs names the locks of other languages that are run here. Each is a
// program in a folder beside this file, which translates between the library and the
// protocol of docs/any-language.md and adds nothing. Beside it stand the library's
// version, in the language's own lock file, and flaws.txt: what the lock is known to
// break.
//
// docs/libraries.md shows what they do in the scenarios, and says why.
package programs

// Program is one lock.
type Program struct {
	Name    string // what a column of docs/libraries.md calls it
	Library string // and its version
	Address string // where the library is at home
	Dir     string // its folder

	// Install is a line for a shell in that folder, which gets the library and
	// builds the program. What it makes is not under version control.
	Install string

	// Command starts the program, in this package's folder.
	Command []string

	Nodes int    // independent servers
	Flaws string // the file in its folder
	Idea  string

	// Page has the reference of the library, with the reason for each flaw.
	Page string
}

const (
	venv  = "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt"
	npm   = "npm ci --silent"
	maven = "mvn -q package dependency:copy-dependencies"

	redisson = "Redisson 4.7.0"
	atGitHub = "https://github.com/"

	librariesPage = "libraries.md"
	redissonPage  = "redisson.md"
)

// inJava starts Redisson's lock of a kind. Every scenario starts several processes,
// which live for seconds: the options make them start with a third of the work.
func inJava(kind string) []string {
	return []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp",
		"redisson/target/classes:redisson/target/dependency/*", "Program", kind}
}

// Programs are all of them.
var Programs = []Program{
	{Name: "redisson", Library: redisson, Address: atGitHub + "redisson/redisson",
		Dir: "redisson", Install: maven, Command: inJava("lock"), Nodes: 1,
		Flaws: "flaws.txt",
		Idea:  "`RLock`: a re-entrant hash, renewed; waiters are woken", Page: redissonPage},
	{Name: "redisson-fair", Library: redisson,
		Address: atGitHub + "redisson/redisson", Dir: "redisson", Install: maven,
		Command: inJava("fair"), Nodes: 1, Flaws: "flaws-fair.txt",
		Idea: "`RFairLock`: the same with a queue", Page: redissonPage},
	{Name: "redisson-rw", Library: redisson, Address: atGitHub + "redisson/redisson",
		Dir: "redisson", Install: maven, Command: inJava("readwrite"), Nodes: 1,
		Flaws: "flaws-readwrite.txt", Idea: "`RReadWriteLock`: readers share it", Page: redissonPage},
	{Name: "redisson-red", Library: redisson, Address: atGitHub + "redisson/redisson",
		Dir: "redisson", Install: maven, Command: inJava("red"), Nodes: 5,
		Flaws: "flaws-red.txt", Idea: "`RedissonRedLock`: a majority of five `RLock`s", Page: redissonPage},
	{Name: "redis-py", Library: "redis-py 8.1.0", Address: atGitHub + "redis/redis-py",
		Dir: "redis-py", Install: venv,
		Command: []string{"redis-py/.venv/bin/python", "redis-py/mylock.py"}, Nodes: 1,
		Flaws: "flaws.txt", Idea: "`Lock`: a token, and scripts that compare it",
		Page: librariesPage},
	{Name: "pottery", Library: "pottery 3.0.1",
		Address: atGitHub + "brainix/pottery", Dir: "pottery", Install: venv,
		Command: []string{"pottery/.venv/bin/python", "pottery/program.py"}, Nodes: 5,
		Flaws: "flaws.txt", Idea: "`Redlock` on five nodes, asked at once",
		Page: librariesPage},
	{Name: "node-redlock", Library: "redlock 5.0.0-beta.2",
		Address: atGitHub + "mike-marcacci/node-redlock", Dir: "node", Install: npm,
		Command: []string{"node", "node/redlock.js"}, Nodes: 5,
		Flaws: "flaws-redlock.txt",
		Idea:  "Redlock on five nodes; `using` renews it",
		Page:  librariesPage},
	{Name: "redis-semaphore", Library: "redis-semaphore 5.8.0",
		Address: atGitHub + "swarthy/redis-semaphore", Dir: "node", Install: npm,
		Command: []string{"node", "node/redis-semaphore.js"}, Nodes: 1,
		Flaws: "flaws-redis-semaphore.txt", Idea: "`Mutex`: a token, renewed",
		Page: librariesPage},
	{Name: "rslock", Library: "rslock 0.10.0",
		Address: atGitHub + "hexcowboy/rslock", Dir: "rslock",
		Install: "cargo build --release --locked --quiet",
		Command: []string{"rslock/target/release/rslock-program"}, Nodes: 3,
		Flaws: "flaws.txt", Idea: "Redlock on three nodes, asked at once",
		Page: librariesPage},
	{Name: "symfony", Library: "Symfony Lock 5.4.53",
		Address: atGitHub + "symfony/lock", Dir: "symfony", Install: "php -v >/dev/null",
		Command: []string{"php", "symfony/program.php"}, Nodes: 1, Flaws: "flaws.txt",
		Idea: "`RedisStore`: a sorted set of tokens by the ends of their leases",
		Page: librariesPage},
}
