package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
)

// unmeasured are rows that this run leaves out.
type unmeasured struct {
	names []string
	why   string
}

// storesVariable says, when it is set, that every store must be there.
const storesVariable = "LOCKLADDER_STORES"

// leaveOut leaves out the rows that why has a reason for. When the user has
// named one, the reason is an error instead.
func (o *options) leaveOut(why func(bench.Subject) string) error {
	o.run.Subjects = slices.DeleteFunc(o.run.Subjects, func(subject bench.Subject) bool {
		reason := why(subject)
		if reason == "" {
			return false
		}
		i := slices.IndexFunc(o.unmeasured, func(u unmeasured) bool { return u.why == reason })
		if i < 0 {
			i = len(o.unmeasured)
			o.unmeasured = append(o.unmeasured, unmeasured{why: reason})
		}
		o.unmeasured[i].names = append(o.unmeasured[i].names, subject.Name)
		return true
	})
	if o.run.Given["rungs"] && len(o.unmeasured) > 0 {
		first := o.unmeasured[0]
		return fmt.Errorf("-rungs: %s: %s", strings.Join(first.names, ", "), first.why)
	}
	return nil
}

// installed leaves out the rows whose servers are not there. That is an error
// when somebody has named one, or asks for every store.
func (o *options) installed() error {
	before := len(o.unmeasured)
	err := o.leaveOut(func(subject bench.Subject) string {
		if subject.Missing != nil {
			if err := subject.Missing(); err != nil {
				return err.Error()
			}
		}
		return ""
	})
	if len(o.unmeasured) > before && os.Getenv(storesVariable) != "" {
		return fmt.Errorf("%s asks for stores: %s", storesVariable, o.unmeasured[before].why)
	}
	return err
}

// notMeasured is a line for each reason.
func (o *options) notMeasured() (text string) {
	for _, u := range o.unmeasured {
		text += fmt.Sprintf("Not measured: %s (%s).\n", strings.Join(u.names, ", "), u.why)
	}
	return text
}
