package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// maxClients keeps the connections below what one address can have.
const maxClients = 60_000

// settings are the flags, checked.
type settings struct {
	runner   benchmark.Runner
	subjects []benchmark.Subject
	left     []string // subjects that need a real server, and there is none
	servers  []string // none: embedded ones
	json     string   // a file, "-", or ""
	note     string
}

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp.
func (c Command) parse(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{runner: benchmark.Runner{Grace: benchmark.DefaultGrace}}
	if c.Note != "" {
		s.note = c.Note + "\n"
	}
	r := &s.runner
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&r.Clients, "clients", benchmark.DefaultClients,
		"how many `clients` start at one instant")
	flags.IntVar(&r.Stock, "stock", benchmark.DefaultStock,
		"how many `units` there are to sell")
	flags.DurationVar(&r.TTL, "ttl", benchmark.DefaultTTL,
		"the lease of the lock")
	flags.DurationVar(&r.Timeout, "timeout", benchmark.DefaultTimeout,
		"ends a row that takes longer; it is reported all the same")
	flags.DurationVar(&r.Poll, "poll", 0, "the longest pause of a refused "+
		"client (default 100ms, on\nembedded servers at least 1ms for each "+
		"client and node)")
	redis := flags.String("redis", "", "real servers, `host:port`; a lock on "+
		"several nodes uses up to five,\nseparated by commas (default embedded "+
		"miniredis)")
	names := flags.String("rungs", "", "the `names` of the rows, separated by "+
		"commas (default all)")
	flags.StringVar(&s.json, "json", "", "also write the figures to this "+
		"`file`; with - they alone go to standard output")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			c.help(flags, stdout)
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var err error
	if given["redis"] {
		if s.servers, err = addresses(*redis); err != nil {
			return nil, err
		}
	}
	if given["poll"] && r.Poll <= 0 {
		return nil, fmt.Errorf("the poll interval is %v, it must be positive",
			r.Poll)
	}
	if given["json"] && s.json == "" {
		return nil, errors.New("-json needs the name of a file, or -")
	}
	if err := s.choose(c.Subjects, *names, given["rungs"]); err != nil {
		return nil, err
	}
	if r.Clients > maxClients {
		return nil, fmt.Errorf("there are %d clients, at most %d can each "+
			"have a connection", r.Clients, maxClients)
	}
	return s, r.Check()
}

// choose sets the subjects. Without a real server those that need one are left
// out; who names one is told.
func (s *settings) choose(all []benchmark.Subject, names string,
	named bool) error {
	if named {
		var err error
		if all, err = benchmark.Select(all, names); err != nil {
			return fmt.Errorf("-rungs: %w", err)
		}
	}
	for _, subject := range all {
		if subject.OnlyReal && len(s.servers) == 0 {
			s.left = append(s.left, subject.Name)
			continue
		}
		s.subjects = append(s.subjects, subject)
	}
	if named && len(s.left) > 0 {
		return fmt.Errorf("-rungs: %s needs a real server, see -redis",
			strings.Join(s.left, ", "))
	}
	return nil
}

func (c Command) help(flags *flag.FlagSet, stdout io.Writer) {
	fmt.Fprintf(stdout, "%s\n\nusage: go run ./bench [flags]\n\n", c.Intro)
	flags.SetOutput(stdout)
	flags.PrintDefaults()
}

// addresses splits what -redis was given.
func addresses(list string) ([]string, error) {
	var found []string
	seen := map[string]bool{}
	for address := range strings.SplitSeq(list, ",") {
		address = strings.TrimSpace(address)
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("-redis %q is not host:port", address)
		}
		if seen[address] {
			return nil, fmt.Errorf("-redis names %s twice, a lock on several "+
				"nodes needs different ones", address)
		}
		seen[address] = true
		found = append(found, address)
	}
	return found, nil
}
