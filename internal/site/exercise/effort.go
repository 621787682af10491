package exercise

import "fmt"

// Effort is how hard an exercise is for somebody who knows the language, and how long it
// takes.
type Effort struct {
	Level   string // easy, moderate or hard
	Minutes int
}

func (e Effort) String() string { return fmt.Sprintf("%s, %d minutes", e.Level, e.Minutes) }

// Effort is the exercise's.
func (e Exercise) Effort() Effort { return efforts[e.Name()] }

var efforts = map[string]Effort{
	"bronze":    {"easy", 10},
	"silver":    {"easy", 10},
	"timestamp": {"moderate", 25},
	"gold":      {"easy", 15},
	"script":    {"easy", 15},
	"platinum":  {"easy", 20},
	"diamond":   {"easy", 15},
	"watchdog":  {"hard", 30},
	"fenced":    {"easy", 15},
	"redlock":   {"hard", 45},
	"notify":    {"moderate", 30},
	"fair":      {"hard", 60},
	"cohort":    {"hard", 90},
	"reentrant": {"hard", 45},
	"readwrite": {"moderate", 40},
}
