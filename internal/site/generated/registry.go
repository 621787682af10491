package generated

// part is a generated part that no test makes.
type part struct {
	page string // "" for every page
	name string // before a space at its end comes an argument
	make func(g *Generator, argument string) (string, error)
}

// text is a part without an argument that is always made.
func text(make func(g *Generator) string) func(*Generator, string) (string, error) {
	return func(g *Generator, _ string) (string, error) { return make(g), nil }
}

// registry has every part. Its examples:
//
//	place gold                      where the rung stands, and its neighbors
//	life gold/overrun_release       the picture of a run
//	climb gold                      the exercise that the rung solves
//	code gold/lock.go Lock.TryLock  declarations of a file
//	file diamond/release.lua        a whole file
//	diff gold                       what the rung changes, beside its parent
//	red gold/overrun_release        a command, and the assertion it lets through
//	exercise timestamp              what an exercise is about
//	explorer 03                     what the explorer is to find in it
//	grade redislock                 where a lock of docs/results stands
var registry = []part{
	{"", "place ", (*Generator).place},
	{"", "life ", (*Generator).picture},
	{"", "climb ", climb},
	{"", "code ", (*Generator).code},
	{"", "file ", (*Generator).file},
	{"", "diff ", (*Generator).diff},
	{"", "red ", (*Generator).red},
	{"", "exercise ", exerciseTask},
	{"", "explorer ", exerciseWalk},
	{"", "grade ", (*Generator).grade},
	{"", "challenge ", challenge},

	{"README.md", "gold", (*Generator).gold},

	{"docs/README.md", "contents", text(contents)},
	{"docs/exercises/README.md", "exercises", text(exerciseTable)},

	{"docs/levels.md", "levels", text(levelList)},
	{"docs/benchmark.md", "measured", measuredIn("benchmark.json", measuredClients)},
	{"docs/benchmark.md", "findings", (*Generator).findings},
	{"docs/benchmark.md", "distance", (*Generator).distance},
	{"docs/benchmark.md", "prices", (*Generator).prices},

	{"docs/matrix.md", "matrix", text((*Generator).matrix)},
	{"docs/matrix.md", "workshop", (*Generator).workshop},
	{"docs/matrix.md", "scenarios", text(catalogue)},

	{"docs/libraries.md", "matrix", beside("libraries", "", "diamond/watchdog", "reentrant",
		"reentrant/fenced")},
	{"docs/libraries.md", "grades", grades("libraries", "")},
	{"docs/libraries.md", "grades of other languages", grades("programs", "")},
	{"docs/libraries.md", "other languages", beside("programs", "", "diamond", "diamond/watchdog",
		"redlock")},
	{"docs/redisson.md", "matrix", beside("programs", "redisson", "reentrant", "reentrant/notify",
		"reentrant/fair", "reentrant/readwrite", "redlock")},
	{"docs/redisson.md", "grades", grades("programs", "redisson")},
	{"docs/redisson.md", "measured", measuredIn("languages.json", 100)},
	{"docs/alternatives.md", "not run", notRun("mysql", "zookeeper", "etcd")},
	{"docs/alternatives.md", "mysql", beside("mysql", "")},
	{"docs/alternatives.md", "zookeeper", beside("zookeeper", "")},
	{"docs/alternatives.md", "etcd", beside("etcd", "")},

	{"docs/choosing.md", "choices", text((*Generator).choices)},
	{"docs/choosing.md", "needs", text(needs)},
	{"docs/choosing.md", "run", text((*Generator).where)},
	{"docs/choosing.md", "costs", text((*Generator).costs)},
}
