package command

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/terminal"
)

// options are the flags, checked.
type options struct {
	job        *bench.Inventory
	run        bench.Run
	plan       bench.Plan
	unmeasured []unmeasured
	asked      string // servers, see bench.Open
	servers    *bench.Servers
	json, html string
	report     bench.Report
	out        *bufio.Writer // standard output
}

// started says whether servers are started for the run.
func (o *options) started() bool { return o.asked == servers.Auto }

// alone says whether the JSON has standard output for itself.
func (o *options) alone() bool { return o.json == "-" }

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp.
func (c Command) parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{job: &bench.Inventory{Note: c.Note}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	plan := o.job.Flags(flags)
	redis := flags.String("redis", "", "real servers: auto starts some, `host:port` uses yours; a lock"+
		" on several nodes uses up to five, separated by commas (default embedded miniredis)")
	names := flags.String("rungs", "", "the `names` of the rows, separated by commas (default all): "+
		strings.Join(bench.Names(o.job.Subjects(c.Locks)), ", "))
	flags.StringVar(&o.json, "json", "", "also write the figures to this `file`; "+
		"with - they alone go to standard output")
	flags.StringVar(&o.html, "html", "", "also write them as a page with charts to this `file`")
	programs := new(bool)
	if c.Programs != nil {
		programs = flags.Bool("programs", false, "also measures locks of other languages, "+
			"in programs of their own; the language is part of such a row")
	}
	err := terminal.Parse(flags, args, c.Intro+" The table has up to\n100 columns; -html has all figures.\n\n"+
		"usage: go run ./bench [flags]\n\n  go run ./bench -redis auto -clients 10,100 -html report.html\n"+
		"  go run ./bench -rungs diamond,reentrant/notify -loop 3s\n\n", stdout)
	if err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.run = bench.Run{Given: map[string]bool{}}
	flags.Visit(func(f *flag.Flag) { o.run.Given[f.Name] = true })
	o.asked, o.run.Real = *redis, o.run.Given["redis"]
	if o.run.Real && o.asked != servers.Auto {
		addresses, err := split(*redis)
		if err != nil {
			return nil, err
		}
		o.asked = strings.Join(addresses, ",")
	}
	locks := c.Locks
	if *programs {
		locks = slices.Concat(locks, c.Programs)
	}
	if err := o.choose(locks, *names); err != nil {
		return nil, err
	}
	if o.plan, err = plan(o.run); err != nil {
		return nil, err
	}
	o.plan.Layout.Width = min(cmp.Or(terminal.Width(stdout), widest), widest)
	for _, subject := range o.run.Subjects {
		o.plan.Layout.Name = max(o.plan.Layout.Name, len(subject.Name))
	}
	return o, cmp.Or(
		terminal.Wrong(o.run.Given["html"] && o.html == "", "-html needs the name of a file"),
		terminal.Wrong(o.run.Given["json"] && o.json == "", "-json needs the name of a file"),
		terminal.Wrong(o.html == "-", "-html needs the name of a file: only -json can go to standard output"))
}

// widest is how many columns the table and the text have at most.
const widest = 100

// output is a file that a run can be written to, "" for none.
type output struct {
	flag, file string
	write      func(bench.Report, io.Writer) error
}

func (o *options) outputs() []output {
	return []output{{"html", o.html, bench.WritePage}, {"json", o.json, bench.Report.Write}}
}

// choose sets the subjects. Those that the servers or the settings don't allow are
// left out; it is an error when the user names one.
func (o *options) choose(locks []bench.Subject, names string) (err error) {
	o.run.Subjects = o.job.Subjects(locks)
	if o.run.Given["rungs"] {
		if o.run.Subjects, err = bench.Select(o.run.Subjects, names); err != nil {
			return fmt.Errorf("-rungs: %w", err)
		}
	}
	return o.leaveOut(func(subject bench.Subject) string {
		if subject.OnlyReal && !o.run.Real {
			return "a real server is needed, see -redis"
		}
		return subject.Unfit
	})
}

// split splits the addresses that -redis was given.
func split(list string) ([]string, error) {
	var found []string
	for address := range strings.SplitSeq(list, ",") {
		address = strings.TrimSpace(address)
		host, port, err := net.SplitHostPort(address)
		if err := cmp.Or(
			terminal.Wrong(strings.Contains(address, "@") || strings.Contains(address, "://"),
				"-redis is host:port or auto: no URL, and no password"),
			terminal.Wrong(err != nil || host == "" || port == "", "-redis %q is neither host:port nor auto", address),
			terminal.Wrong(slices.Contains(found, address), "-redis names %s twice, a lock on several nodes needs different"+
				" ones", address)); err != nil {
			return nil, err
		}
		found = append(found, address)
	}
	return found, nil
}

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

// installed leaves out the rows whose servers are not installed. A row that was asked for
// by name is an error, and so is any row when all stores are asked for.
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
