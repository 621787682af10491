// Command mutate measures what the checks of a rung are worth: it changes the
// rung's Go and Lua code in one place at a time, runs the checks against each
// changed copy, and prints which changes no check has noticed.
//
//	go run ./internal/ladder/mutate -rungs diamond/watchdog
//
// The checks are the rung's own tests, which run all scenarios, then the
// promises of the ladder, then the explorer's quick rows. The first that fails
// kills the mutant. A mutant that doesn't compile doesn't count. One that is
// listed in equivalent.txt, with the reason why nobody could notice it, counts
// neither as killed nor as a survivor. The changes are made in copies of the
// module, in a temporary directory.
//
// A mutant takes from three to twelve seconds, and minutes when it hangs:
// diamond/watchdog is done in minutes, reentrant/cohort with its 620 mutants in two
// hours. The exit status is 1 when a mutant survives that is not explained, and 2 for
// a wrong flag.
package main
