package recording

// Goal is what the explorer found out about an invariant.
type Goal struct {
	Invariant string `json:"invariant"`
	Schedule  string `json:"schedule"` // the cheapest; "": none breaks it
	Adversary int    `json:"adversary"`
	Steps     int    `json:"steps"`
	Failing   string `json:"failing"` // how many schedules break it
}

// Graph is a lock's state graph as the site reads it: the reader is the scheduler in
// it.
type Graph struct {
	Lock      string   `json:"lock"`
	Program   string   `json:"program"`
	Bounds    string   `json:"bounds"`
	Stopped   bool     `json:"stopped,omitempty"` // before every schedule was seen
	Schedules string   `json:"schedules"`         // how many there are
	Clients   []string `json:"clients"`
	Nodes     int      `json:"nodes"`
	Goals     []Goal   `json:"goals"`
	Texts     []string `json:"texts"` // the first is empty
	Worlds    []State  `json:"worlds"`

	// States have the clock in milliseconds, the index of the world, that of what
	// each client does, and six numbers for each thing under way: client, node, and
	// the indices of the sign, the text, the reply and the line.
	States [][]int `json:"states"`

	// Edges have, for each state, three numbers for each action: the index of its
	// text, the state that it leads to, and a bit for each goal that it breaks. Three
	// more bits are of a request to the storage: it reads, it writes, it was refused.
	Edges [][]int `json:"edges"`
}

// wrong says what a graph has that can't be, or "".
func (g *Graph) wrong() string {
	within := func(i, n int) bool { return i >= 0 && i < n }
	const before, flight = 2, 6
	switch {
	case len(g.States) == 0 || len(g.Goals) == 0 || len(g.Texts) == 0:
		return "the graph has no states"
	case len(g.Edges) != len(g.States):
		return "the graph has not the edges of each state"
	}
	for _, goal := range g.Goals {
		if goal.Invariant == "" {
			return "a goal of the graph has no invariant"
		}
	}
	for _, s := range g.States {
		way := len(s) - before - len(g.Clients)
		if way < 0 || way%flight != 0 || !within(s[1], len(g.Worlds)) {
			return "a state of the graph is incomplete"
		}
		for i, n := range s[before:] {
			// Of what is under way the first two numbers are a client and a node.
			at := i - len(g.Clients)
			switch {
			case at >= 0 && at%flight == 0 && !within(n, len(g.Clients)),
				at >= 0 && at%flight == 1 && !within(n, g.Nodes),
				(at < 0 || at%flight > 1) && !within(n, len(g.Texts)):
				return "a state of the graph names what the graph hasn't"
			}
		}
	}
	for _, edges := range g.Edges {
		if len(edges)%3 != 0 {
			return "an edge of the graph is incomplete"
		}
		for i := 0; i < len(edges); i += 3 {
			if !within(edges[i], len(g.Texts)) || !within(edges[i+1], len(g.States)) {
				return "an edge of the graph names what the graph hasn't"
			}
		}
	}
	return ""
}
