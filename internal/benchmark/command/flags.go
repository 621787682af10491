package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// maxClients keeps the connections below what one address can have.
const maxClients = 60_000

// loopStock is the stock of a closed loop. With the usual one all but the first
// moments would be spent in a shop that has sold out, where a turn costs less.
const loopStock = 1_000_000

// struckTTL is the lease of a run with faults: what was orphaned blocks the
// others for so long, and with the usual ten seconds little else would be seen.
const struckTTL = 200 * time.Millisecond

// pairedRounds is how often a row on real servers is measured.
const pairedRounds = 5

// settings are the flags, checked.
type settings struct {
	runner   benchmark.Runner // for the first block
	clients  []int            // at least one: the blocks of the table
	polls    []time.Duration  // at least one; 0 is the default
	subjects []benchmark.Subject
	left     []unmeasured
	named    bool     // the rows were chosen by their names
	auto     bool     // servers are started for the run
	servers  []string // none, and not auto: embedded ones
	pool     int
	rtt      time.Duration
	pin      bool
	services int
	json     string // a file, "-", or ""
	stat     string // the same, as text for benchstat
	html     string // a file, or ""
	note     string
	sizeTTL  bool // measure what a lease is sized by, and nothing else
}

// real says whether the run uses real servers.
func (s *settings) real() bool { return s.auto || len(s.servers) > 0 }

// struck says whether faults are wanted.
func (s *settings) struck() bool {
	return s.runner.Crash > 0 || s.runner.Overrun > 0
}

// quiet says whether something else than the table goes to standard output.
func (s *settings) quiet() bool { return s.json == "-" || s.stat == "-" }

// Check returns what is wrong with arguments, if anything, and runs nothing.
func (c Command) Check(args []string) error {
	_, err := c.parse(args, io.Discard)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
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
	s.clients, s.polls = []int{benchmark.DefaultClients}, []time.Duration{0}
	flags.Func("clients", "how many `clients` start at one instant (default "+
		strconv.Itoa(benchmark.DefaultClients)+"); several\nnumbers, separated "+
		"by commas, make a table each", list(&s.clients, strconv.Atoi))
	flags.Func("poll", "the longest pause of a refused client, a `duration` "+
		"(default 100ms, on\nembedded servers at least 1ms for each client and "+
		"node); several make a\ntable each", list(&s.polls, positive))
	flags.IntVar(&r.Stock, "stock", benchmark.DefaultStock,
		"how many `units` there are to sell; with -loop the default is\n"+
			strconv.Itoa(loopStock)+", so that every turn does the same work")
	flags.DurationVar(&r.TTL, "ttl", benchmark.DefaultTTL,
		"the lease of the lock; with faults the default is "+
			struckTTL.String())
	flags.DurationVar(&r.Timeout, "timeout", benchmark.DefaultTimeout,
		"ends a row, or one of its rounds, that takes longer; it is reported\n"+
			"all the same")
	flags.BoolVar(&r.FixedPoll, "fixed-poll", false,
		"every pause is as long as the longest, without jitter")
	flags.IntVar(&r.Ops, "ops", 1, "how many `turns` each client takes")
	flags.DurationVar(&r.Loop, "loop", 0,
		"instead, each client takes turns for this long")
	flags.IntVar(&s.services, "services", 1,
		"how many `processes` the clients live in; needs -redis")
	flags.IntVar(&s.pool, "pool", 0, "how many `connections` the clients of a "+
		"process share (default one each, and 8)")
	flags.IntVar(&r.Rounds, "rounds", 0, fmt.Sprintf("how often a row is "+
		"measured, each time after the serial limit (default %d\non real "+
		"servers, 1 on embedded ones)", pairedRounds))
	flags.DurationVar(&s.rtt, "rtt", 0,
		"adds this to the network's round-trip time")
	flags.BoolVar(&s.pin, "pin", false,
		"puts servers and clients on one CPU (Linux); needs -redis")
	flags.Float64Var(&r.Crash, "crash", 0,
		"the `share` of the clients that die inside, such as 0.01")
	flags.Float64Var(&r.Overrun, "overrun", 0,
		"the `share` of the clients that work longer than the lease")
	flags.Uint64Var(&r.Seed, "seed", 0, "decides on jitter and faults (default "+
		"chance; with faults 1)")
	flags.String("workload", saleWorkload, "what is done behind the locks: "+
		"sale, cache or import; each has flags of\nits own, see -workload cache "+
		"-help")
	flags.BoolVar(&s.sizeTTL, "size-ttl", false, "measure how long a lease "+
		"should be, and nothing else")
	names := s.define(flags)
	flags.StringVar(&s.stat, "benchstat", "", "also write them as text for "+
		"benchstat to this `file`, or -")
	flags.StringVar(&s.html, "html", "", "also write them as a page with "+
		"charts to this `file`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			c.help(flags, stdout)
		}
		return nil, expected(flags, err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name := range given {
		if s.sizeTTL && name != "size-ttl" && name != "redis" {
			return nil, fmt.Errorf("-size-ttl measures no rungs, -%s does not "+
				"go with it", name)
		}
	}
	if err := s.understand(flags, given); err != nil {
		return nil, err
	}
	if err := s.choose(c.Subjects, *names, given["rungs"]); err != nil {
		return nil, err
	}
	if r.Loop > 0 && !given["stock"] {
		r.Stock = loopStock
	}
	if s.struck() && !given["ttl"] {
		r.TTL = struckTTL
	}
	if s.struck() && !given["seed"] {
		r.Seed = 1
	}
	if s.real() && !given["rounds"] {
		r.Rounds = pairedRounds
	}
	if err := s.check(given); err != nil {
		return nil, err
	}
	return s, s.leaveOut(s.unfit)
}

// define defines the flags that every workload has. It returns the names of the
// rows.
func (s *settings) define(flags *flag.FlagSet) (names *string) {
	flags.String("redis", "", "real servers: auto starts some, "+
		"`host:port` uses yours; a lock on several nodes\nuses up to five, "+
		"separated by commas (default embedded miniredis)")
	flags.StringVar(&s.json, "json", "", "also write the figures to this "+
		"`file`; with - they alone go to standard output")
	return flags.String("rungs", "", "the `names` of the rows, separated by "+
		"commas (default all)")
}

// understand checks those flags that say where the run is made and where its
// figures go.
func (s *settings) understand(flags *flag.FlagSet, given map[string]bool) (
	err error) {
	redis := flags.Lookup("redis").Value.String()
	if s.auto = redis == "auto"; given["redis"] && !s.auto {
		if s.servers, err = addresses(redis); err != nil {
			return err
		}
	}
	for _, name := range []string{"json", "benchstat", "html"} {
		if given[name] && flags.Lookup(name).Value.String() == "" {
			return fmt.Errorf("-%s needs the name of a file", name)
		}
	}
	return nil
}

// check looks at what only the command knows, and asks the runner for the rest.
func (s *settings) check(given map[string]bool) error {
	r := &s.runner
	for _, clients := range s.clients {
		r.Clients = clients
		if err := r.Check(); err != nil {
			return err
		}
		if clients > maxClients {
			return fmt.Errorf("there are %d clients, at most %d can each have "+
				"a connection", clients, maxClients)
		}
		if s.services > clients {
			return fmt.Errorf("there are %d processes for %d clients, each "+
				"needs at least one", s.services, clients)
		}
	}
	switch {
	case given["pool"] && s.pool < 1:
		return fmt.Errorf("the pool has %d connections, at least 1 is needed",
			s.pool)
	case given["ops"] && r.Ops < 1:
		return fmt.Errorf("there are %d turns of each client, at least 1 is "+
			"needed", r.Ops)
	case given["rounds"] && r.Rounds < 1:
		return fmt.Errorf("there are %d rounds, at least 1 is needed", r.Rounds)
	case given["loop"] && r.Loop <= 0:
		return fmt.Errorf("the loop lasts %v, it must be positive", r.Loop)
	case s.rtt < 0:
		return fmt.Errorf("the network's round-trip time is %v, it must not be "+
			"negative", s.rtt)
	case s.services < 1:
		return fmt.Errorf("there are %d processes, at least 1 is needed",
			s.services)
	case s.services > 1 && !s.real():
		return errors.New("-services needs a real server, see -redis: the " +
			"embedded ones are inside this process")
	case s.pin && !s.real():
		return errors.New("-pin needs a real server, see -redis: the embedded " +
			"ones are inside this process")
	case s.json == "-" && s.stat == "-":
		return errors.New("only one of -json and -benchstat can go to standard " +
			"output")
	}
	return nil
}

// list understands values separated by commas.
func list[T any](into *[]T, one func(string) (T, error)) func(string) error {
	return func(text string) error {
		*into = nil
		for word := range strings.SplitSeq(text, ",") {
			value, err := one(strings.TrimSpace(word))
			var number *strconv.NumError
			if errors.As(err, &number) {
				return fmt.Errorf("%q is no number", word)
			}
			if err != nil {
				return err
			}
			*into = append(*into, value)
		}
		return nil
	}
}

// unread is what the flag package says of a value that it can't read: not what it
// expects.
var unread = regexp.MustCompile(`^(invalid value .* for flag -(\S+): )parse error$`)

// expected adds to such an error what the flag's value should be.
func expected(flags *flag.FlagSet, err error) error {
	parts := unread.FindStringSubmatch(err.Error())
	if parts == nil {
		return err
	}
	form := "a whole number, such as 4"
	if value, ok := flags.Lookup(parts[2]).Value.(flag.Getter); ok {
		switch value.Get().(type) {
		case time.Duration:
			form = "a duration, such as 20ms"
		case float64:
			form = "a number, such as 0.05"
		}
	}
	return errors.New(parts[1] + "it must be " + form)
}

// positive understands a duration above 0.
func positive(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration, such as 20ms", text)
	}
	if d <= 0 {
		return 0, fmt.Errorf("the poll interval is %v, it must be positive", d)
	}
	return d, nil
}

// choose sets the subjects. Without a real server those that need one are left
// out; who names one is told.
func (s *settings) choose(all []benchmark.Subject, names string,
	named bool) error {
	s.subjects, s.named = all, named
	if named {
		var err error
		if s.subjects, err = benchmark.Select(all, names); err != nil {
			return fmt.Errorf("-rungs: %w", err)
		}
	}
	return s.leaveOut(func(subject benchmark.Subject) string {
		if subject.OnlyReal && !s.real() {
			return needsReal
		}
		return ""
	})
}

// nodes is how many servers the subjects can use.
func (s *settings) nodes() int {
	nodes := 1
	for _, subject := range s.subjects {
		nodes = max(nodes, subject.Nodes)
	}
	return nodes
}

// longestName is how many columns the names of the rows need.
func (s *settings) longestName() int {
	longest := 0
	for _, subject := range s.subjects {
		longest = max(longest, len(subject.Name))
	}
	return longest
}

// most is the greatest number of clients.
func (s *settings) most() int { return slices.Max(s.clients) }

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
		if strings.Contains(address, "@") || strings.Contains(address, "://") {
			return nil, errors.New("-redis is host:port or auto: no URL, and no" +
				" password")
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("-redis %q is neither host:port nor auto",
				address)
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
