package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// unmeasured are rows that this run leaves out.
type unmeasured struct {
	names []string
	why   string
}

const needsReal = "a real server is needed, see -redis"

// storesVariable says, when it is set, that every store must be there.
const storesVariable = "LOCKLADDER_STORES"

// leaveOut leaves out the rows that why has a reason for. Who has named one is
// told instead.
func (s *settings) leaveOut(why func(benchmark.Subject) string) error {
	var kept []benchmark.Subject
	for _, subject := range s.subjects {
		reason := why(subject)
		if reason == "" {
			kept = append(kept, subject)
			continue
		}
		i := slices.IndexFunc(s.left, func(u unmeasured) bool {
			return u.why == reason
		})
		if i < 0 {
			i = len(s.left)
			s.left = append(s.left, unmeasured{why: reason})
		}
		s.left[i].names = append(s.left[i].names, subject.Name)
	}
	s.subjects = kept
	if s.named && len(s.left) > 0 {
		return fmt.Errorf("-rungs: %s: %s", strings.Join(s.left[0].names, ", "),
			s.left[0].why)
	}
	return nil
}

// unfit says why a row can't be measured with the settings, "" when it can.
func (s *settings) unfit(subject benchmark.Subject) string {
	ttl := s.runner.TTL
	switch {
	case subject.OwnServer && s.services > 1:
		return "the server started for the row is one process's, not with " +
			"-services"
	case subject.OwnServer && s.runner.Crash > 0:
		return "who crashes has connections of its own, and here it would be " +
			"a server of its own, not with -crash"
	case subject.Lease != nil && subject.Lease(ttl) != ttl:
		return fmt.Sprintf("its lease is %v, whatever -ttl says",
			subject.Lease(ttl))
	}
	return ""
}

// installed leaves out the rows whose servers are not there. That is an error
// when somebody has named one, or asks for every store.
func (s *settings) installed() error {
	var missing []error
	refused := s.leaveOut(func(subject benchmark.Subject) string {
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
func (s *settings) notMeasured() string {
	var text strings.Builder
	for _, u := range s.left {
		fmt.Fprintf(&text, "Not measured: %s (%s).\n",
			strings.Join(u.names, ", "), u.why)
	}
	return text.String()
}
