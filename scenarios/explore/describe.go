package explore

import (
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/site/recording"
)

// label describes the state that the run is in.
func (r *run) label() *label {
	log := r.world.Log()
	l := &label{at: int(r.world.Now().Seconds()*1000 + 0.5), way: r.ways(),
		world: recording.StateAt(&history.Entry{Inside: log.Believers(),
			Leases: log.Leases(), Stored: log.Stored()})}
	for _, p := range r.players {
		does := p.doing
		switch {
		case p.Dead():
			does = "is dead"
		case p.Asleep():
			does = "is stopped: " + does
		}
		l.does = append(l.does, does)
	}
	return l
}

// ways is what is under way. Of what comes on one connection only the first can
// arrive, so only that is counted.
func (r *run) ways() []way {
	var ways []way
	for _, f := range r.flights {
		if f.behind {
			continue
		}
		c := f.conn.client
		w := way{client: c.index, node: f.conn.Port.Index, sign: f.sign(), text: f.text,
			line: c.Line(f.args)}
		if f.kind == aReply {
			w.reply = r.world.Names().Reply(c.Name, f.raw)
		}
		ways = append(ways, w)
	}
	return ways
}
