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

const needsReal = "a real server is needed, see -redis"

// storesVariable says, when it is set, that every store must be there.
const storesVariable = "LOCKLADDER_STORES"

// leaveOut leaves out the rows that why has a reason for. When the user has
// named one, the reason is an error instead.
func (o *options) leaveOut(why func(bench.Subject) string) error {
	var kept []bench.Subject
	for _, subject := range o.subjects {
		reason := why(subject)
		if reason == "" {
			kept = append(kept, subject)
			continue
		}
		i := slices.IndexFunc(o.left, func(u unmeasured) bool {
			return u.why == reason
		})
		if i < 0 {
			i = len(o.left)
			o.left = append(o.left, unmeasured{why: reason})
		}
		o.left[i].names = append(o.left[i].names, subject.Name)
	}
	o.subjects = kept
	if o.named && len(o.left) > 0 {
		return fmt.Errorf("-rungs: %s: %s", strings.Join(o.left[0].names, ", "),
			o.left[0].why)
	}
	return nil
}

// installed leaves out the rows whose servers are not there. That is an error
// when somebody has named one, or asks for every store.
func (o *options) installed() error {
	var missing []error
	refused := o.leaveOut(func(subject bench.Subject) string {
		if subject.Missing == nil {
			return ""
		}
		err := subject.Missing()
		if err == nil {
			return ""
		}
		missing = append(missing, err)
		return err.Error()
	})
	if len(missing) > 0 && os.Getenv(storesVariable) != "" {
		return fmt.Errorf("%s asks for stores: %w", storesVariable, missing[0])
	}
	return refused
}

// notMeasured is a line for each reason.
func (o *options) notMeasured() string {
	var text strings.Builder
	for _, u := range o.left {
		fmt.Fprintf(&text, "Not measured: %s (%s).\n",
			strings.Join(u.names, ", "), u.why)
	}
	return text.String()
}
