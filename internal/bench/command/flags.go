package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
)

// options are the flags, checked.
type options struct {
	workload  bench.Workload
	usual     string // the name of the workload for which nobody has to ask
	subjects  []bench.Subject
	left      []unmeasured
	named     bool     // the rows were chosen by their names
	auto      bool     // servers are started for the run
	addresses []string // none, and not auto: embedded ones
	formats   []*format
}

// format is what a run is to be written as, and where.
type format struct {
	bench.Format
	file string // "-" is standard output, "" is nowhere
}

// alone says whether it has standard output for itself.
func (f *format) alone() bool { return f.Alone && f.file == "-" }

// real says whether the run uses real servers.
func (o *options) real() bool { return o.auto || len(o.addresses) > 0 }

// Check returns what is wrong with arguments, if anything, and runs nothing.
func (c Command) Check(args []string) error {
	_, _, err := c.parse(args, io.Discard)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

// parse understands and checks the arguments. After -help, which is answered on
// stdout, it returns flag.ErrHelp. help is what lists the flags of the workload.
func (c Command) parse(args []string, stdout io.Writer) (o *options, help string,
	err error) {
	all := c.workloads()
	o = &options{usual: all[0].Name()}
	help = "-help"
	name, rest, err := workloadIn(args, o.usual)
	if err != nil {
		return nil, help, err
	}
	var names []string
	for _, w := range all {
		names = append(names, w.Name())
		if w.Name() == name {
			o.workload = w
		}
	}
	if o.workload == nil {
		last := len(names) - 1
		return nil, help, fmt.Errorf("there is no workload %q, there are %s and %s",
			name, strings.Join(names[:last], ", "), names[last])
	}
	if name != o.usual { // it has flags of its own
		help = "-workload " + name + " -help"
	}
	return o, help, o.parse(c.Locks, c.More, rest, stdout)
}

// workloadIn returns the workload that the arguments name, and the others.
func workloadIn(args []string, usual string) (name string, rest []string,
	err error) {
	name = usual
	for i := 0; i < len(args); i++ {
		key, value, with := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		if strings.TrimPrefix(key, "-") != "workload" ||
			!strings.HasPrefix(args[i], "-") {
			rest = append(rest, args[i])
			continue
		}
		if !with {
			if i++; i == len(args) {
				return "", nil, errors.New("flag needs an argument: -workload")
			}
			value = args[i]
		}
		name = value
	}
	return name, rest, nil
}

func (o *options) parse(locks []bench.Subject, more More, args []string,
	stdout io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.workload.Define(flags)
	redis := flags.String("redis", "", "real servers: auto starts some, "+
		"`host:port` uses yours; a lock on several nodes\nuses up to five, "+
		"separated by commas (default embedded miniredis)")
	names := flags.String("rungs", "", "the `names` of the rows, separated by "+
		"commas (default all)")
	for _, f := range append([]bench.Format{{
		Flag: "json",
		Usage: "also write the figures to this `file`; with - they alone go " +
			"to standard output",
		Alone: true,
		Write: bench.ReportOf[any].Write,
	}}, o.workload.Formats()...) {
		wanted := &format{Format: f}
		o.formats = append(o.formats, wanted)
		flags.StringVar(&wanted.file, f.Flag, "", f.Usage)
	}
	wantsMore := new(bool)
	if o.workload.Name() == o.usual && more.Flag != "" {
		flags.BoolVar(wantsMore, more.Flag, false, more.Usage)
	}
	if o.workload.Name() == o.usual { // it was found before, and is shown here
		flags.String("workload", o.usual, "what is done behind the locks: "+
			"inventory, cache or catalog; each\nhas flags of its own, see "+
			"-workload cache -help")
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stdout, "%s\n\nusage: go run ./bench [flags]\n\n",
				o.workload.Intro())
			flags.SetOutput(stdout)
			flags.PrintDefaults()
		}
		return expected(flags, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.auto = *redis == "auto"; given["redis"] && !o.auto {
		var err error
		if o.addresses, err = split(*redis); err != nil {
			return err
		}
	}
	alone := ""
	for _, wanted := range o.formats {
		switch {
		case given[wanted.Flag] && wanted.file == "":
			return fmt.Errorf("-%s needs the name of a file", wanted.Flag)
		case wanted.alone() && alone != "":
			return fmt.Errorf("only one of -%s and -%s can go to standard output",
				alone, wanted.Flag)
		case wanted.alone():
			alone = wanted.Flag
		}
	}
	if *wantsMore {
		locks = slices.Concat(locks, more.Locks)
	}
	if err := o.choose(locks, *names, given["rungs"]); err != nil {
		return err
	}
	if err := o.workload.Settle(given, o.real()); err != nil {
		return err
	}
	return o.leaveOut(o.workload.Unfit)
}

// choose sets the subjects. Without a real server those that need one are left
// out; it is an error when the user names one.
func (o *options) choose(locks []bench.Subject, names string,
	named bool) (err error) {
	o.subjects, o.named = o.workload.Subjects(locks), named
	if named {
		if o.subjects, err = bench.Select(o.subjects, names); err != nil {
			return fmt.Errorf("-rungs: %w", err)
		}
	}
	return o.leaveOut(func(subject bench.Subject) string {
		if subject.OnlyReal && !o.real() {
			return needsReal
		}
		return ""
	})
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

// split splits the addresses that -redis was given.
func split(list string) ([]string, error) {
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
