package generated

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockladder/lockladder/scenarios"
)

// challenge is what a challenge of docs/challenges.md runs, and prints when it is passed.
func challenge(_ *Generator, number string) (string, error) {
	n, err := strconv.Atoi(number)
	all := scenarios.Challenges()
	if err != nil || n < 1 || n > len(all) {
		return "", errUnknown
	}
	c := all[n-1]
	var b strings.Builder
	fmt.Fprintf(&b, "\nWhen you are done, the check ends with\n\n    Challenge %d passed: your lock"+
		" stands on %s.\n\n", n, c.Rung)
	fmt.Fprintln(&b, "It runs what the challenges before it ran, and these scenarios:")
	fmt.Fprintln(&b)
	for _, name := range c.New {
		s, err := scenarios.Find(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- **%s**. %s\n", s.Name, s.Summary)
	}
	return b.String(), nil
}
