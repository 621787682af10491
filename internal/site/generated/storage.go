package generated

import (
	"fmt"
	"regexp"
	"slices"
)

// access is a read or a write with a fencing token, which the storage checks.
var access = regexp.MustCompile(`^(read|write)s .*storage: .*, token (\d+)(, refused)?$`)

// checks says whether the run's storage checks fencing tokens.
func (d *drawing) checks() bool {
	return slices.ContainsFunc(d.Texts, access.MatchString)
}

// tokens draws the highest fencing token that the storage has seen, and the reads and writes.
func (d *drawing) tokens() {
	newest := span{}
	color := colors[len(colors)-1]
	end := func(at int64) {
		if newest.to = at; newest.what != "" {
			d.box(newest, d.storage, bar, color, "has seen token "+newest.what, newest.what)
		}
	}
	for _, e := range d.Entries {
		m := access.FindStringSubmatch(d.Texts[e.Text])
		if m == nil {
			continue
		}
		client := d.Clients[e.Client]
		x, c, text := d.x(e.At), d.color(client)[1], fmt.Sprintf("%ss: token %s", m[1], m[2])
		switch {
		case m[3] != "":
			c, text = alarm, fmt.Sprintf("✗ token %s refused", m[2])
		case m[2] != newest.what:
			end(e.At)
			newest, color = span{what: m[2], from: e.At}, d.color(client)
		}
		d.line(`<path d="M%.1f %dV%dm-3 -5l3 5l3 -5" fill="none" stroke="%s"/>`, x,
			d.lanes[client]+bar, d.storage, c)
		d.label(x+4, d.storage-8, "start", c, text)
	}
	end(d.until)
}
