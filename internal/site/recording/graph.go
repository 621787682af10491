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
