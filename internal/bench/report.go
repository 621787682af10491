package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/terminal"
)

// Report is a run.
type Report struct {
	Schema int   `json:"schema"` // 2
	Env    Env   `json:"env"`
	Rows   []Row `json:"rows"`
}

// Env is where and how a run was made.
type Env struct {
	Date          string   `json:"date"`
	Command       string   `json:"command"`
	How           string   `json:"how"` // what the program says first
	Go            string   `json:"go"`
	OS            string   `json:"os"`
	Arch          string   `json:"arch"`
	CPU           *string  `json:"cpu"`
	CPUs          int      `json:"cpus"`
	Commit        *string  `json:"commit"` // with "+" when files have changed
	Server        string   `json:"server"` // "miniredis", "redis" or "valkey"
	ServerVersion *string  `json:"server_version"`
	Addresses     []string `json:"addresses"`     // null when embedded
	Pinned        *int     `json:"pinned_to_cpu"` // servers and clients alike
	RTTms         float64  `json:"rtt_ms"`        // added to every round trip
	Pool          int      `json:"pool"`          // connections to each server
	TTLms         float64  `json:"ttl_ms"`
	TimeoutMs     float64  `json:"timeout_ms"`
	Seed          *uint64  `json:"seed"`
	Interrupted   bool     `json:"interrupted"`
}

// Write writes the report as JSON.
func (r Report) Write(w io.Writer) error {
	r.Rows = append([]Row{}, r.Rows...) // an array in JSON
	text, err := json.MarshalIndent(r, "", "")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Report tells the figures that go test -bench shows: first the time of a client's turn,
// where there was one.
func (r Row) Report(figure func(x float64, unit string)) {
	if sections := r.Count("sections"); sections > 0 {
		figure(math.Round(*r.Number("seconds")*1e9/float64(sections)), "ns/op")
	}
	for _, f := range r.figures {
		if x, is := f.Value.(float64); is && f.Unit != "" {
			figure(x, f.Unit)
		}
	}
}

// Row is what was measured of one subject: figures, in their order. One that was not
// measured is nil, null in JSON, never 0.
type Row struct {
	figures []Figure

	// Rounds are all rounds; the row's own figures are their medians, and of what
	// must not happen the worst. None for one round.
	Rounds  []Row
	isRound bool // it is one of them

	meant  int      // the nodes that the lock is meant for
	rounds int      // that there should be at least, 0 for one
	notes  []string // what went wrong, or is not as in other rows
}

// NewRow is a row with these figures.
func NewRow(figures ...Figure) Row {
	for i := range figures {
		figures[i].Value = plain(figures[i].Value)
	}
	return Row{figures: figures}
}

// plain is a value without a pointer to it; a number is a float64.
func plain(value any) any {
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return plain(v.Elem().Interface())
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice && v.IsNil():
		return nil
	case v.CanInt():
		return float64(v.Int())
	}
	return value
}

// RowOf is a row of the inventory with these figures and no others.
func RowOf(values map[string]any) Row {
	row := Row{figures: (&Measurement{}).figures()}
	for i := range row.figures {
		row.figures[i].Value = nil
	}
	for name, value := range values {
		row.Set(name, value)
	}
	return row
}

// figure is one of the row's figures. It panics when there is none of that name.
func (r Row) figure(name string) *Figure {
	i := slices.IndexFunc(r.figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		panic("no figure is called " + name)
	}
	return &r.figures[i]
}

// Set sets a figure.
func (r Row) Set(name string, value any) { r.figure(name).Value = plain(value) }

// Value is a figure: a number is a float64.
func (r Row) Value(name string) any { return r.figure(name).Value }

// value is a figure of that type, its zero value when it was not measured.
func value[T any](r Row, name string) T {
	v, _ := r.Value(name).(T)
	return v
}

// Number is a figure that is a number, nil when it was not measured.
func (r Row) Number(name string) *float64 {
	if x, is := r.Value(name).(float64); is {
		return &x
	}
	return nil
}

// Count is a figure that is a whole number, 0 when it was not measured.
func (r Row) Count(name string) int { return int(value[float64](r, name)) }

// Show is a figure with so many digits after the point.
func (r Row) Show(name string, digits int) string { return Decimal(r.Number(name), digits) }

// Pause is the longest of a refused client. Locks that do not poll are given it all the same.
func (r Row) Pause() time.Duration {
	return time.Duration(value[float64](r, "poll_ms") * float64(time.Millisecond))
}

// Name is the subject's.
func (r Row) Name() string { return value[string](r, "rung") }

// Kind is the subject's.
func (r Row) Kind() Kind { return Kind(value[string](r, "kind")) }

// Finished says that no client was cut off.
func (r Row) Finished() bool { return r.Value("finished") == true }

// Wrong says that the row lost updates, however fast it is.
func (r Row) Wrong() bool { return r.Count("lost_updates")+r.Count("oversold") > 0 }

// Notes are the lines below the row.
func (r Row) Notes() []string { return r.notes }

// explained adds lines about what went wrong, or is not as in other rows.
func (r Row) explained() Row {
	note := func(format string, args ...any) {
		r.notes = append(r.notes, fmt.Sprintf(format, args...))
	}
	if !r.Finished() {
		cut := r // the row has the figures of the round in the middle
		if i := slices.IndexFunc(r.Rounds, func(r Row) bool { return r.Value("finished") == false }); i >= 0 {
			cut = r.Rounds[i]
		}
		note("cut off after %.1f s: %d of %s were completed", *cut.Number("seconds"),
			cut.Count("sections"), Plural(cut.Count("turns"), "acquisition"))
	}
	if len(r.Rounds) < r.rounds {
		note("%d of %d rounds were measured", len(r.Rounds), r.rounds)
	}
	if failed := r.failed(); failed != "" {
		note("%s", failed)
	}
	if absent := r.Count("absent"); absent > 0 {
		note("%s did not return and had to be left behind", Plural(absent, "client"))
	}
	return r
}

// failed says how many turns failed, and why the first did; "" where none did.
func (r Row) failed() string {
	first, failed := r.Value("first_failure").(string)
	if !failed {
		return ""
	}
	return fmt.Sprintf("%s failed, the first: %s", Plural(r.Count("failures"), "acquisition"),
		strings.Join(slices.Compact(strings.Split(terminal.Keys(first), "\n")), "; "))
}

// Ratio are the acquisitions a second in units of those of the serial limit, nil when not measured.
func (r Row) Ratio() *float64 { return r.Number("ratio_to_serial") }

// Ratios are those of the rounds.
func (r Row) Ratios() []float64 { return r.all(Row.Ratio) }

// all are something of the rounds that have it, or of the row where it has no others.
func (r Row) all(of func(Row) *float64) (all []float64) {
	rounds := r.Rounds
	if len(rounds) == 0 {
		rounds = []Row{r}
	}
	for _, round := range rounds {
		if x := of(round); x != nil {
			all = append(all, *x)
		}
	}
	return all
}

// between are two numbers, or one where they look the same.
func between(least, most float64, digits int) string {
	return strings.Join(slices.Compact([]string{Decimal(&least, digits), Decimal(&most, digits)}), "–")
}

func span(least, most float64) string { return between(least, most, Brief) }

// serial is the serial limit that a round's ratio compares with.
func (r Row) serial() *float64 {
	rate, ratio := r.Number("acquisitions_per_second"), r.Ratio()
	if rate == nil || ratio == nil || *ratio == 0 {
		return nil
	}
	return new(*rate / *ratio)
}

func longest(r Row) *float64 { return r.Number("wait_ms.max") }

// Work is the processor time of an acquisition with its critical section in µs, of clients and servers.
func (r Row) Work() *float64 {
	clients, servers := r.Number("cpu_us_per_section.clients"), r.Number("cpu_us_per_section.server")
	if clients == nil || servers == nil {
		return nil
	}
	return new(*clients + *servers)
}

// Median has the medians of the rounds, and the worst of what must not happen in
// any. There should be so many rounds, or more.
func Median(done []Row, rounds int) Row {
	row := Row{figures: slices.Clone(done[0].figures), meant: done[0].meant, rounds: rounds, Rounds: slices.Clone(done)}
	for i := range row.Rounds {
		row.Rounds[i].isRound = true
	}
	for i, f := range row.figures {
		for _, r := range done[1:] {
			if f.Over != nil {
				row.figures[i].Value = f.Over(row.figures[i].Value, r.figures[i].Value)
			}
		}
	}
	row.medians()
	bad := extreme(done, 1, func(r Row) float64 { return 1e6*float64(r.Count("oversold")) + float64(r.Count("lost_updates")) })
	for _, name := range []string{"sold", "left", "oversold", "lost_updates"} {
		row.Set(name, bad.Value(name))
	}
	return row
}

// medians sets the figures that the rounds have to their medians, and the middle half of their speeds.
func (r Row) medians() {
	for i, f := range r.figures {
		of := func(r Row) *float64 { return r.Number(f.Name) }
		if f.Over == nil && len(r.all(of)) > 0 {
			r.figures[i].Value = r.median(of)
		}
	}
	if rates := r.all(rate); len(rates) > 1 {
		r.Set("range", span(middleHalf(rates)))
	}
	if len(r.all(Row.serial)) > 0 {
		r.Set("serial", r.median(Row.serial))
	}
}

// Range is where the middle half of the rounds is, in acquisitions a second: "1050–1510".
func (r Row) Range() string { return r.figure("range").Show() }

// spread is half of what around says of the ratio, in percent of the median; without end with fewer than two rounds.
func (r Row) spread() float64 {
	ratios, median := r.all(Row.Ratio), r.Ratio()
	if len(ratios) < 2 || median == nil || *median == 0 {
		return math.Inf(1)
	}
	least, most := around(ratios)
	return 50 * (most - least) / *median
}

// trusted is how many rounds there are at least where around says something about more.
const trusted = 6

// around are the ratios between which, with a confidence of 95 %, the median of many more
// rounds would be: any round is above it with a chance of one half, so the more rounds there
// are, the more of the least and the greatest can be left out. Of fewer than six none can.
func around(ratios []float64) (least, most float64) {
	n, out := len(ratios), 0
	exactly := math.Pow(0.5, float64(n)) // the chance that just so many are below it
	for atMost := exactly; ; out++ {
		exactly *= float64(n-out) / float64(out+1)
		if atMost += exactly; 2*atMost > 0.05 {
			break
		}
	}
	sorted := slices.Sorted(slices.Values(ratios))
	return sorted[out], sorted[n-1-out]
}

func worst(a, b any) any {
	if a == nil || b == nil {
		return nil
	}
	return max(a.(float64), b.(float64))
}

func sum(a, b any) any {
	x, _ := a.(float64)
	y, _ := b.(float64)
	return x + y
}

func both(a, b any) any   { return a == true && b == true }
func either(a, b any) any { return cmp.Or(a, b) }

// member is a name and its value in JSON.
type member struct {
	name  string
	value any
}

// object is a JSON object whose members keep their order; null when all of them are.
type object []member

func (o object) MarshalJSON() ([]byte, error) {
	if !slices.ContainsFunc(o, func(m member) bool { return m.value != nil }) {
		return []byte("null"), nil
	}
	var all [][]byte
	for _, m := range o {
		text, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.name, err)
		}
		all = append(all, fmt.Appendf(nil, "%q:%s", m.name, text))
	}
	return fmt.Appendf(nil, "{%s}", bytes.Join(all, []byte(","))), nil
}

// MarshalJSON has the figures in their order. Those whose names have the same beginning
// before a dot are one object.
func (r Row) MarshalJSON() ([]byte, error) {
	var all object
	for _, f := range r.figures {
		name, inner, nested := strings.Cut(f.member(r.isRound), ".")
		last := len(all) - 1
		switch {
		case name == "":
		case !nested:
			all = append(all, member{name, f.Value})
		case all[last].name != name:
			all = append(all, member{name, object{{inner, f.Value}}})
		default:
			all[last].value = append(all[last].value.(object), member{inner, f.Value})
		}
	}
	if len(r.Rounds) > 0 {
		all = append(all, member{"rounds", r.Rounds})
	}
	return all.MarshalJSON()
}

// UnmarshalJSON reads what MarshalJSON writes of the inventory. Figures that there are no
// more are left out.
func (r *Row) UnmarshalJSON(text []byte) error {
	var all map[string]any
	var of struct{ Rounds []Row }
	if err := errors.Join(json.Unmarshal(text, &all), json.Unmarshal(text, &of)); err != nil {
		return fmt.Errorf("decode a row: %w", err)
	}
	*r = RowOf(nil)
	r.Rounds, r.isRound = of.Rounds, all["rung"] == nil
	for i, f := range r.figures {
		r.figures[i].Value = at(all, f.member(r.isRound))
	}
	r.medians()
	return nil
}

// at is a member of an object, or of one inside it.
func at(all map[string]any, name string) any {
	object, member, nested := strings.Cut(name, ".")
	if !nested {
		return all[name]
	}
	inner, _ := all[object].(map[string]any)
	return inner[member]
}

// Woken says whether the row's lock wakes its waiters, and so has no pause.
func (r Row) Woken() bool {
	return slices.Contains([]string{"reentrant/notify", "reentrant/fair", "reentrant/cohort",
		"reentrant/readwrite", "redisson", "redisson-fair"}, r.Name())
}
