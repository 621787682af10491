package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// update is what a section did in the storage: it read the name of the section
// that wrote last, and wrote its own. As one step, it can't lose an update.
type update struct {
	section     *section
	name, saw   string
	read, wrote int64

	// excused says that it may have overwritten what it had not read. No section
	// of a lock with fencing tokens is.
	excused bool
}

// patience is how long porcupine may think about one key.
const patience = time.Minute

// register is what the storage is to its sections, if each is a single step.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		u := input.(*update)
		return u.excused || state.(string) == u.saw, u.name
	},
	DescribeOperation: func(input, _ any) string {
		u := input.(*update)
		return fmt.Sprintf("%s saw %q", u.name, u.saw)
	},
}

// updates asks porcupine whether the sections of each key could have taken place
// one after the other. Of a lock without fencing tokens a section may have
// written too late because its process was stopped; with tokens nothing explains
// it.
func (r *record) updates() {
	byKey := r.readUpdates()
	for _, key := range r.setup.Keys {
		all := byKey[key]
		r.excuse(all)
		var history []porcupine.Operation
		for _, u := range all {
			history = append(history, porcupine.Operation{Input: u,
				Call: u.read, Return: u.wrote})
		}
		switch porcupine.CheckOperationsTimeout(register, history, patience) {
		case porcupine.Illegal:
			r.lostUpdate(key, all)
		case porcupine.Unknown:
			r.open(fmt.Sprintf("%s: porcupine has not decided about the %d sections of"+
				" %s within %v", LostUpdate, len(all), key, patience))
		}
	}
}

// readUpdates reads the storage's history: the updates of each key in the order of
// their writes. A section that has read only changes nothing.
func (r *record) readUpdates() map[string][]*update {
	byKey, open := map[string][]*update{}, map[string]*update{}
	for _, e := range r.events {
		switch e.Kind {
		case event.Read:
			open[e.Section] = &update{section: r.byName[e.Section],
				name: e.Section, saw: e.Value, read: e.At}
		case event.Write:
			u := open[e.Section]
			if u == nil || u.section == nil {
				continue // a section holds and reads before it writes
			}
			u.wrote = e.At
			u.excused = !r.setup.Fenced && (e.At-e.Looked > int64(travel) ||
				touched(r.of(u.section), e.Looked, e.At))
			byKey[e.Key] = append(byKey[e.Key], u)
		}
	}
	return byKey
}

// excuse keeps the excuse of those updates only that need one, and lends it to those
// that a late write disturbed, between what they read and what they wrote.
func (r *record) excuse(all []*update) {
	var late []*update
	for _, u := range all {
		if u.excused {
			late = append(late, u)
		}
	}
	last := ""
	for _, u := range all {
		u.excused = u.saw != last && (u.excused || slices.ContainsFunc(late,
			func(l *update) bool { return u.read < l.wrote && l.wrote < u.wrote }))
		if u.excused {
			r.verdict.Stale++
		}
		last = u.name
	}
}

// lostUpdate shows the first update that saw something else than was there.
func (r *record) lostUpdate(key string, all []*update) {
	last := ""
	for _, u := range all {
		if u.saw == last || u.excused {
			last = u.name
			continue
		}
		owners, from := []owner{u.section.owner}, u.section.called
		if before := r.byName[last]; before != nil {
			owners = append(owners, before.owner)
			from = min(from, before.called)
		}
		r.violated(LostUpdate, fmt.Sprintf("%s overwrote the write of %s to %s,"+
			" which it had not seen", u.name, cmp.Or(last, "nobody"), key), key,
			from, u.wrote, owners...)
		return
	}
	r.violated(LostUpdate, "porcupine finds no order of the sections of "+key,
		key, r.end, r.end)
}
