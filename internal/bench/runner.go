package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// Runner measures subjects on the same servers, never two at a time. Its fields are not changed
// while a Measure is under way, and it is used by one goroutine at a time, Progress by any.
type Runner struct {
	Settings
	Servers *Servers

	// Think is called inside every critical section between the reading of
	// the stock and the taking, with a context that ends with the row. Tests
	// force an interleaving with it; nil does nothing.
	Think func(ctx context.Context)

	stage atomic.Pointer[stage]
	under atomic.Pointer[round] // whose clock is running
}

// stage is where a run is: in a round of a row, of the subject or of the serial limit beside it.
type stage struct {
	row, rows     int // from 1
	subject       Subject
	round, rounds int // from 1; more may follow
	serial        bool
}

// Progress says which row is under way, and how far it is.
func (r *Runner) Progress() string {
	now := r.stage.Load()
	if now == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d: %s", now.row, now.rows, now.subject.Name)
	if r.paired() {
		text += fmt.Sprintf(", round %d", now.round)
		if now.round <= now.rounds {
			text += fmt.Sprintf("/%d", now.rounds)
		}
		if now.serial {
			text += ", serial limit"
		}
	}
	s := r.under.Load()
	if s == nil {
		return text + ": warming up"
	}
	turns := fmt.Sprintf("%d turns, ", s.sections.Load())
	if of := s.each * len(s.clients); of > 0 {
		turns = fmt.Sprintf("%d/%d turns, ", s.sections.Load(), of)
	}
	if now.serial {
		turns = "" // they are other clients'
	}
	return fmt.Sprintf("%s: %s%.1f s", text, turns, time.Since(s.started).Seconds())
}

// Measure lets all clients of one subject start at one instant, and returns what they did when
// all are through, when the timeout is over or when ctx ends: the clients then stop waiting,
// and the holder finishes and releases the lock. The row says whether all were through.
//
// With several rounds it reports their medians, and the worst of what must not happen. Rounds that
// ctx cuts off are left out when there is a complete one.
//
// It returns an error when the row could not begin: no server answers, a lock
// cannot be built, ctx has ended. The keys it has written by then are under the
// servers' prefix, so the servers' Close removes them.
func (r *Runner) Measure(ctx context.Context, subject Subject) (Row, error) {
	rows, err := r.MeasureAll(ctx, []Subject{subject})
	if len(rows) > 0 {
		return rows[0], nil
	}
	if ctx.Err() != nil {
		err = lock.Failed(ctx, "measure", subject.Name, ctx.Err())
	}
	return Row{}, err
}

// MeasureAll measures each subject as Measure does, in turns: one round of each, and then another of
// those that need it. So the computer's speed, which may change by the minute, is in all rows alike.
//
// With an error, which is ErrInterrupted when ctx has ended, the rows are those with a round.
func (r *Runner) MeasureAll(ctx context.Context, subjects []Subject) (rows []Row, err error) {
	defer r.stage.Store(nil)
	all := make([]series, len(subjects))
	for round, more := 1, true; more && err == nil; round++ {
		more = false
		var serials []Row
		for i := 0; i < len(subjects) && err == nil; i++ {
			if s := &all[i]; r.another(s) {
				more = true
				err = r.next(ctx, s, stage{i + 1, len(subjects), subjects[i], round, r.Rounds, false}, &serials)
			}
		}
		compareTurn(all, subjects, round, serials)
	}
	for i, s := range all {
		if len(s.rounds) == 0 {
			break
		}
		row := s.rounds[0]
		if r.paired() {
			row = Median(s.rounds, r.Rounds)
		}
		row = row.explained()
		if note := subjects[i].Note; note != "" {
			row.notes = append(row.notes, note)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// series has the rounds of a row.
type series struct {
	rounds []Row
	took   time.Duration
	ended  bool // no other follows
}

// compareTurn compares the rounds of a turn with the serial limit in the middle of those measured in
// it, which is also that row's round: one alone is off by more than the locks differ by.
func compareTurn(all []series, subjects []Subject, round int, serials []Row) {
	if len(serials) == 0 {
		return
	}
	slices.SortFunc(serials, slower)
	limit := serials[(len(serials)-1)/2]
	for i := range all {
		s := &all[i]
		if isSerialLimit(subjects[i]) {
			s.rounds = append(s.rounds[:min(len(s.rounds), round-1)], limit)
		}
		if len(s.rounds) == round && rate(s.rounds[round-1]) != nil {
			last := s.rounds[round-1]
			last.Set("serial", limit.speed())
			last.Set("ratio_to_serial", Rounded(last.speed()/limit.speed(), 6))
		}
	}
}

// next measures one more round of a row, and adds the serial limit beside it to the others.
func (r *Runner) next(ctx context.Context, s *series, now stage, serials *[]Row) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w before row %d of %d", ErrInterrupted, now.row, now.rows)
	}
	began := time.Now()
	row, err := r.compared(ctx, now, serials)
	s.took += time.Since(began)
	interrupted := ctx.Err() != nil && (err != nil || !row.Finished())
	if err == nil && (!interrupted || len(s.rounds) == 0) {
		s.rounds = append(s.rounds, row)
	}
	switch s.ended = err != nil || !row.Finished(); { // the next would take as long
	case interrupted:
		return fmt.Errorf("%w in row %d of %d", ErrInterrupted, now.row, now.rows)
	case len(s.rounds) == 0:
		return lock.Failed(ctx, "measure", now.subject.Name, err)
	}
	return nil
}

// A row with patience is measured until its spread is so small, in percent: the range of
// the median is then within five. It is not measured more often than that.
const enoughSpread, mostRounds = 2.5, 25

// another says whether a row needs one more round.
func (r *Runner) another(s *series) bool {
	n := len(s.rounds)
	if s.ended || n < max(r.Rounds, 1) {
		return !s.ended
	}
	return s.took < r.Patience && n < mostRounds && (n < trusted || Median(s.rounds, 0).spread() > enoughSpread)
}

// paired says whether rows are measured in rounds, each just after the serial limit.
func (s Settings) paired() bool { return s.Rounds > 1 || s.Patience > 0 }

// compared measures a round, where there are several just after the serial limit.
func (r *Runner) compared(ctx context.Context, now stage, serials *[]Row) (Row, error) {
	measure := func(subject Subject) (Row, error) {
		at := now
		at.serial = subject.Name != now.subject.Name
		r.stage.Store(&at)
		row, err := r.round(ctx, subject)
		if err == nil && isSerialLimit(subject) && row.Finished() {
			*serials = append(*serials, row)
		}
		return row, err
	}
	if r.paired() && !isSerialLimit(now.subject) {
		if _, err := measure(serialLimit); err != nil {
			return Row{}, err
		}
	}
	if ctx.Err() != nil && now.round > 1 {
		return Row{}, ctx.Err()
	}
	return measure(now.subject)
}

// round measures a subject once.
func (r *Runner) round(ctx context.Context, subject Subject) (Row, error) {
	clients, err := r.Servers.Warm(ctx, max(subject.Nodes, 1))
	if err != nil {
		return Row{}, err
	}
	r.Servers.Clear()
	m := &Measurement{Settings: r.Settings, Subject: subject, Nodes: min(subject.Nodes, len(clients)),
		Unlocked: subject.unlocked || subject.Open != nil}
	m.Turns, m.Stock = r.size(subject)
	m.Poll = r.Pause(subject, r.Servers.Embedded())
	// Should this process be killed, the stock removes itself.
	_, stockKey := r.keys(subject)
	if err := clients[0].Set(ctx, stockKey, m.Stock, r.Timeout+time.Hour).Err(); err != nil {
		return Row{}, fmt.Errorf("set the stock: %w", err)
	}
	if subject.Sell != nil {
		m.Counts, err = r.byProgram(ctx, subject)
	} else {
		m.Counts, err = r.inProcess(ctx, subject, clients)
	}
	if err != nil {
		return Row{}, err
	}
	own, cancel := detached(ctx)
	defer cancel()
	if subject.Open == nil {
		if left, err := clients[0].Get(own, stockKey).Int64(); err == nil {
			m.Left = &left
		}
	}
	r.complete(m)
	row := NewRow(m.figures()...)
	row.meant = subject.Nodes
	return row, nil
}

// keys are those of a row: the lock's and the stock's.
func (r *Runner) keys(subject Subject) (lockKey, stockKey string) {
	prefix := r.Servers.Prefix(subject.Name)
	return prefix + "lock", prefix + "stock"
}

// inProcess runs all clients in this process.
func (r *Runner) inProcess(ctx context.Context, subject Subject,
	clients []redis.UniversalClient) (all Counts, err error) {
	s, err := r.assign(ctx, subject, clients)
	defer s.end()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return all, err
	}
	before := r.Servers.Usage(ctx, len(clients))
	all = r.open(ctx, s)
	all.Usage = r.Servers.Usage(ctx, len(clients)).Since(before)
	if s.left != nil {
		own, cancel := detached(ctx)
		defer cancel()
		left, err := s.left(own)
		if err != nil {
			return all, fmt.Errorf("count the stock: %w", err)
		}
		all.Left = &left
	}
	return all, nil
}

// byProgram lets a program sell the stock by itself.
func (r *Runner) byProgram(ctx context.Context, subject Subject) (Counts, error) {
	key, stock := r.keys(subject)
	work := Assignment{r.Servers.outside(lock.Env{Key: key, TTL: r.TTL}, r.Servers.Nodes()),
		protocol.Workload{Stock: stock, Owners: r.Clients, Turns: max(r.Ops, 1),
			Poll: r.Pause(subject, r.Servers.Embedded())}}
	within, cancel := context.WithTimeout(ctx, r.limit()+r.Grace)
	defer cancel()
	part, err := subject.Sell(within, work)
	if err != nil && within.Err() != nil && ctx.Err() == nil { // nobody knows more
		return Counts{Absent: r.Clients, Took: r.limit()}, nil
	}
	return part, err
}

// complete leaves out of a measurement what doesn't count.
func (r *Runner) complete(m *Measurement) {
	if r.Loop > 0 {
		// A grant after the end of the loop came only because the loop had ended.
		m.Stamps = slices.DeleteFunc(m.Stamps, func(s Stamp) bool { return s.Entered >= int64(r.Loop) })
		m.Turns = int(m.Sections + m.Failures)
	}
	if isSerialLimit(m.Subject) {
		m.Served = nil // it shares with nobody
	}
}

// The settings of a run for which nothing else was asked.
const (
	DefaultClients = 1000
	DefaultStock   = 100
	DefaultTTL     = 10 * time.Second
	DefaultTimeout = 30 * time.Second
	DefaultGrace   = 20 * time.Second
)

// Settings say what is measured. Inventory checks those that a user has given.
type Settings struct {
	Clients int           // at least 1
	Stock   int           // at least 0
	TTL     time.Duration // the lease, at least 1 ms
	Poll    time.Duration // the longest pause of a refused client, 0: see Pause
	Timeout time.Duration // bounds one round of a row, above 0

	// Grace is how long after its end a row waits for clients that have not returned; they are
	// then left behind. Only a lock that does not end with its context needs it.
	Grace time.Duration

	// FixedPoll makes every pause of a refused client as long as the longest.
	FixedPoll bool

	// Ops is how many turns a client takes one after the other, 0 means 1.
	// Loop makes it take turns until that time is over instead.
	Ops  int
	Loop time.Duration

	// Rounds is how often a row is measured, 0 means once. More rounds
	// alternate with the serial limit.
	Rounds int

	// Patience is how long a row is measured in more rounds than that, as long as its
	// ratio to the serial limit is not known well enough; 0: no more rounds follow.
	Patience time.Duration

	// Seed decides on the jitter and the tokens of all; 0 leaves them to chance.
	Seed uint64

	// Apart is the time between the starts of two clients. With 0 all start at one instant.
	Apart time.Duration
}

// Pause is the longest pause of a refused client in a row of the subject: Poll, or if that is 0
// the subject's, or else [wukong]'s, and on embedded servers at least a millisecond for each
// client and node. A script costs such a server some 100 µs, and 1000 clients that ask every 50
// ms leave it no time for the one that has the lock; on several nodes they also take them from
// each other. There, it is at least 200 µs for each client and node on real servers too.
func (s Settings) Pause(subject Subject, embedded bool) time.Duration {
	each := 200 * time.Microsecond
	if embedded {
		each = time.Millisecond
	}
	switch {
	case s.Poll > 0:
		return s.Poll
	case subject.Poll > 0:
		return subject.Poll
	case embedded || subject.Nodes > 1:
		return max(lock.DefaultPoll, time.Duration(s.Clients*max(subject.Nodes, 1))*each)
	}
	return lock.DefaultPoll
}

// enough is how many turns in a row one client takes alone, at least, which others are compared
// with: a handful says nothing.
const enough = 1000

// size is how many turns all clients take together in a round, and how many units they share. Where
// rounds are compared, one client alone takes enough of them, with a stock to match.
func (s Settings) size(subject Subject) (turns, stock int) {
	turns, stock = s.Clients*max(s.Ops, 1), s.Stock
	if (isSerialLimit(subject) || s.Clients == 1 && subject.Sell == nil) && s.paired() && turns < enough {
		stock, turns = stock*enough/turns, enough
	}
	return turns, stock
}

// limit is when a round ends at the latest.
func (s Settings) limit() time.Duration {
	if s.Loop > 0 {
		return min(s.Loop, s.Timeout)
	}
	return s.Timeout
}
