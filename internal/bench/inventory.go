package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/terminal"
)

// maxClients keeps the connections below what one address can have.
const maxClients = 60_000

// loopStock is the stock of a closed loop. With the usual one all but the first
// moments would be spent on a stock that has sold out, where a turn costs less.
const loopStock = 1_000_000

// trips is how many round trips a section of the serial limit takes.
const trips = 4

// A row is measured so often on real servers, and in more rounds for so long.
const (
	pairedRounds = trusted
	patience     = 3 * time.Second
)

// Inventory is the benchmark as a program runs it: a table for each number of clients
// and each pause.
type Inventory struct {
	Note string // a line below the header, "" for none

	Settings // but for the clients and the pause
	clients  []int
	polls    []time.Duration // 0 is the default
	pool     int
	rtt      time.Duration

	against string // a file with an earlier run
	before  Report // what is in it
	program string // a command line, "" for none
}

// Flags defines the flags of the settings. When they are parsed, plan checks them, and
// returns what is wrong with them.
func (w *Inventory) Flags(flags *flag.FlagSet) (plan func(Run) (Plan, error)) {
	s := &w.Settings
	s.Grace = DefaultGrace
	w.clients, w.polls = []int{DefaultClients}, []time.Duration{0}
	flags.Func("clients", fmt.Sprintf("how many `clients` start at one instant (default %d); several"+
		" numbers, separated by commas, make a table each", DefaultClients), List(&w.clients, strconv.Atoi))
	flags.Func("poll", "the longest pause of a refused client, a `duration` (default 100ms, on embedded"+
		" servers at least 1ms for each client and node); several make a table each", List(&w.polls, positive))
	flags.IntVar(&s.Stock, "stock", DefaultStock, fmt.Sprintf("how many `units` there are to sell; with"+
		" -loop the default is %d, so that every turn does the same work", loopStock))
	flags.DurationVar(&s.TTL, "ttl", DefaultTTL, "the lease of the lock")
	flags.DurationVar(&s.Timeout, "timeout", DefaultTimeout,
		"ends a row, or one of its rounds, that takes longer; it is reported all the same")
	flags.BoolVar(&s.FixedPoll, "fixed-poll", false, "every pause is as long as the longest, without jitter")
	flags.IntVar(&s.Ops, "ops", 1, "how many `turns` each client takes")
	flags.DurationVar(&s.Loop, "loop", 0, "instead, each client takes turns for this long")
	flags.IntVar(&w.pool, "pool", 0, "how many `connections` the clients share (default one each, and 8)")
	flags.IntVar(&s.Rounds, "rounds", 0, fmt.Sprintf("how often a row is measured, each time after the"+
		" serial limit (default: until times serial is known to ± 2.5 %%, or %v are over; on"+
		" real servers %d times at least)", patience, pairedRounds))
	flags.DurationVar(&w.rtt, "rtt", 0, "adds this to the network's round-trip time")
	flags.Uint64Var(&s.Seed, "seed", 0, "decides on the jitter (default chance)")
	flags.StringVar(&w.against, "against", "", "compares the rows with those of an earlier run, a `file`"+
		" that -json wrote, and says which differences are noise")
	flags.StringVar(&w.program, "program", "", "also measures a lock in any language: the `command` that"+
		" starts a program, such as 'python3 lock.py'; it is split at spaces, so no argument can have one;"+
		" see docs/any-language.md")
	return w.plan
}

// positive understands a duration above 0.
func positive(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration, such as 20ms", text)
	}
	return d, terminal.Wrong(d <= 0, "the poll interval is %v, it must be positive", d)
}

// check completes the settings, and returns what is wrong with them.
func (w *Inventory) check(given map[string]bool, real bool) error {
	s := &w.Settings
	if s.Loop > 0 && !given["stock"] {
		s.Stock = loopStock
	}
	if !given["rounds"] {
		s.Patience = patience
	}
	if real && !given["rounds"] {
		s.Rounds = pairedRounds
	}
	least, most := slices.Min(w.clients), slices.Max(w.clients)
	return cmp.Or(
		terminal.Wrong(least < 1, "there are %d clients, at least 1 is needed", least),
		terminal.Wrong(most > maxClients, "there are %d clients, at most %d can each have a connection", most, maxClients),
		terminal.Wrong(s.Stock < 0, "the stock is %d, it must not be negative", s.Stock),
		terminal.Wrong(s.TTL < time.Millisecond, "the ttl is %v, Redis needs at least 1ms", s.TTL),
		terminal.Wrong(s.TTL%time.Millisecond != 0, "the ttl is %v, Redis counts whole milliseconds", s.TTL),
		terminal.Wrong(s.Timeout <= 0, "the timeout is %v, it must be positive", s.Timeout),
		terminal.Wrong(s.Ops < 1, "there are %d turns of each client, at least 1 is needed", s.Ops),
		terminal.Wrong(given["loop"] && s.Loop <= 0, "the loop lasts %v, it must be positive", s.Loop),
		terminal.Wrong(s.Loop >= s.Timeout, "the loop lasts %v, it must be shorter than the timeout, %v", s.Loop, s.Timeout),
		terminal.Wrong(s.Loop > 0 && s.Ops > 1, "there are %d turns of each client and a loop of %v, one of them is possible",
			s.Ops, s.Loop),
		terminal.Wrong(given["rounds"] && s.Rounds < 1, "there are %d rounds, at least 1 is needed", s.Rounds),
		terminal.Wrong(given["pool"] && w.pool < 1, "the pool has %d connections, at least 1 is needed", w.pool),
		terminal.Wrong(given["against"] && w.against == "", "-against needs the name of a file that -json wrote"),
		terminal.Wrong(given["program"] && len(strings.Fields(w.program)) == 0,
			"-program needs a command, such as 'python3 lock.py'"),
		terminal.Wrong(w.rtt < 0, "the network's round-trip time is %v, it must not be negative", w.rtt),
		terminal.Wrong(trips*w.rtt > s.Timeout, "the network's round-trip time is %v, it must be shorter than a quarter of"+
			" the timeout of a row, %v: each client needs %d of them (example: -rtt 20ms)", w.rtt, s.Timeout, trips))
}

// plan says what is to be done.
func (w *Inventory) plan(run Run) (Plan, error) {
	if err := errors.Join(w.check(run.Given, run.Real), w.read()); err != nil {
		return Plan{}, err
	}
	p := Plan{Config: Config{Clients: slices.Max(w.clients), Pool: w.pool, RTT: w.rtt}, Header: w.header(run), Layout: Layout{Jain: w.Loop > 0 || w.Ops > 1}}
	if args := strings.Fields(w.program); len(args) > 0 {
		p.Layout.Name, p.Nodes = len(ProgramName(args)), ProgramNodes
	}
	for _, clients := range w.clients {
		for _, poll := range w.polls {
			w.Clients, w.Poll = clients, poll
			p.Tables = append(p.Tables, Table{w.title(clients, poll), &Runner{Settings: w.Settings}})
		}
	}
	return p, nil
}

// Late makes the rows that can't be made before the servers are there.
func (w *Inventory) Late(ctx context.Context, servers *Servers) ([]Subject, error) {
	args := strings.Fields(w.program)
	if len(args) == 0 {
		return nil, nil
	}
	row, err := servers.Program(ctx, args, w.sections())
	return []Subject{row}, err
}

// sections is how many there are in a row, more than any number where nobody knows.
func (w *Inventory) sections() int {
	if w.Loop > 0 {
		return math.MaxInt
	}
	return slices.Max(w.clients) * max(w.Ops, 1)
}

// read reads the earlier run.
func (w *Inventory) read() error {
	if w.against == "" {
		return nil
	}
	text, err := os.ReadFile(w.against)
	if err == nil {
		err = json.Unmarshal(text, &w.before)
	}
	return cmp.Or(terminal.Wrong(err != nil, "-against needs a file that -json wrote: %w", err),
		terminal.Wrong(len(w.before.Rows) == 0, "-against %s: there is no row in it", w.against))
}

// Findings are what the rows say, and a table of how they differ from those of an earlier run.
func (w *Inventory) Findings(r Report) []string {
	found := Findings(r.Rows)
	if w.against != "" && len(r.Rows) > 0 {
		found = append(found, strings.TrimSpace(Compare(w.against, w.before, r)))
	}
	return found
}

// Subjects are all locks, with the baselines around them, and the one without a pause. A
// row that can't be measured with the flags says so, see Subject.Unfit.
func (w *Inventory) Subjects(locks []Subject) []Subject {
	all := append(Around(locks...), noPause)
	for i := range all {
		all[i].Unfit = w.unfit(all[i])
	}
	return all
}

// unfit says why a row can't be measured with the settings, "" when it can.
func (w *Inventory) unfit(subject Subject) string {
	switch {
	case subject.Sell != nil && (w.Loop > 0 || w.rtt > 0 || w.pool > 0):
		return "its clients live in a program of their own, not with -loop, -rtt or -pool"
	case subject.Sell != nil && w.sections() > subject.MostSections:
		return fmt.Sprintf("it sells in %d sections at most, see -clients and -ops", subject.MostSections)
	case subject.Name == noPause.Name && slices.Max(w.clients) > crowded:
		return fmt.Sprintf("more than %d clients without a pause take minutes, see -clients", crowded)
	case subject.Lease != nil && subject.Lease(w.TTL) != w.TTL:
		return fmt.Sprintf("its lease is %v, whatever -ttl says", subject.Lease(w.TTL))
	}
	return ""
}

// title stands above a table when there are several.
func (w *Inventory) title(clients int, poll time.Duration) string {
	var words []string
	if len(w.clients) > 1 {
		words = append(words, Plural(clients, "client"))
	}
	if len(w.polls) > 1 {
		words = append(words, fmt.Sprintf("pauses of ≤ %v", poll))
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, ", ") + "\n\n"
}

// header says what is measured.
func (w *Inventory) header(run Run) string {
	rest := map[bool]string{true: " and, until the stock of " + fmt.Sprint(w.Stock) + " is sold out, a DECR", false: " and a DECR"}[slices.Max(w.clients) > w.Stock]
	text := w.who() + rest + fmt.Sprintf("; lease %v, at most %v a round. A refused client of a lock that polls pauses for %s.", w.TTL, w.Timeout, w.pauses(run))
	if w.rtt > 0 {
		text += fmt.Sprintf(" %v are added to every round trip.", w.rtt)
	}
	if w.pool > 0 {
		text += fmt.Sprintf(" Clients share %d connections.", w.pool)
	}
	if w.paired() {
		text += " Locks are measured in turns, " + Plural(max(w.Rounds, 1), "round") + " each"
		if w.Patience > 0 {
			text += fmt.Sprintf(" at least, until the speed beside one client alone is known to ± 2.5 %%, or a lock took %v", w.Patience)
		}
		text += map[bool]string{true: fmt.Sprintf("; 1 client alone has %d turns in each", enough)}[slices.Contains(w.clients, 1) && w.Loop == 0] + "."
	}
	return strings.TrimSpace(text+"\n"+w.Note) + "\n"
}

// who says who the clients are, and what they do.
func (w *Inventory) who() string {
	text := commas(w.clients) + " clients start"
	if text == "1 clients start" {
		text = "1 client starts"
	}
	text += " at one instant. Each acquires the lock, works and releases it"
	switch {
	case w.Loop > 0:
		text += fmt.Sprintf(", again and again for %v", w.Loop)
	case w.Ops > 1:
		text += fmt.Sprintf(" %d times", w.Ops)
	default:
		text += " once: a burst"
	}
	return text + ". To work is a GET"
}

// commas lists the values of a slice.
func commas(all any) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ", ")
}

// pauses says for how long refused clients pause.
func (w *Inventory) pauses(run Run) string {
	s, usual, others := w.Settings, []string(nil), ""
	for _, s.Poll = range w.polls {
		for _, s.Clients = range w.clients {
			pause := s.Pause(Subject{}, !run.Real)
			usual = append(usual, pause.String())
			for _, subject := range run.Subjects {
				if its := s.Pause(subject, !run.Real); its != pause {
					others += fmt.Sprintf(", %s with %s: %v", subject.Name, Plural(s.Clients, "client"), its)
				}
			}
		}
	}
	text := strings.Join(slices.Compact(usual), " or ")
	if !w.FixedPoll {
		text = "a random time of up to " + text
	}
	if others != "" {
		text += " (" + others[2:] + ")"
	}
	return text
}
