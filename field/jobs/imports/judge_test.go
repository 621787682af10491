package imports_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/field/jobs/imports"
)

// verdict counts what became of the tasks:
//
//	done          they have ended at least once
//	stuck         not done; they stand in a queue or in a slot
//	lost          not done, and nowhere
//	twice         they have ended more than once
//	overlapped    starts while the group was worked on
//	out of order  ends after that of a later task
//	refused       ends that came too late and did not count
//	fail          starts that ended with an error
type verdict map[string]int

// judge says what became of tasks that were pushed in the order of their numbers, by the
// log, whose entries are in the order in which Redis has logged them, and by the tasks
// that stand in a queue or in a slot at the end. It knows nothing else.
func judge(pushed []imports.Task, log []string, left []imports.Task) verdict {
	v := verdict{}
	ends := map[int]int{}        // task: how often it has ended
	newest := map[string]int{}   // group: the latest task that has ended
	works := map[string]string{} // worker: the group that it works on
	for i, entry := range log {
		var kind, group, worker string
		var task int
		if _, err := fmt.Sscan(entry, &kind, &task, &group, &worker); err != nil {
			panic(fmt.Sprintf("the log says %q: %v", entry, err))
		}
		delete(works, worker)
		switch kind {
		case "begin":
			if slices.Contains(slices.Collect(maps.Values(works)), group) {
				v["overlapped"]++
			}
			// A worker that logs nothing more has died.
			if slices.ContainsFunc(log[i+1:], func(later string) bool {
				return strings.HasSuffix(later, " "+worker)
			}) {
				works[worker] = group
			}
		case "end":
			if ends[task]++; ends[task] == 2 {
				v["twice"]++
			}
			if task < newest[group] {
				v["out of order"]++
			}
			newest[group] = max(newest[group], task)
		default:
			v[kind]++
		}
	}
	for _, t := range pushed {
		switch {
		case ends[t.ID] > 0:
			v["done"]++
		case slices.Contains(left, t):
			v["stuck"]++
		default:
			v["lost"]++
		}
	}
	return v
}
