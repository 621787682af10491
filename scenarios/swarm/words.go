package swarm

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// String tells the story in a paragraph.
func (s Story) String() string {
	var told []string
	if s.Key != keys[0] || s.Lease != Lease || s.Repeats {
		told = append(told, s.setting())
	}
	if s.Fixed {
		told = append(told, "No lease is renewed.")
	}
	if s.Patient {
		told = append(told, "Each node has half a lease for its answer.")
	}
	if s.Together {
		told = append(told, "All act at the same instants.")
	}
	for _, p := range s.Processes {
		if p.Ahead != 0 {
			told = append(told, fmt.Sprintf("%s's clock is %s.", p.Name, ahead(p.Ahead)))
		}
		var names []string
		for _, o := range p.Owners {
			if o.Apart {
				told = append(told, fmt.Sprintf("%s, in the process %s, is an owner of another"+
					" lock, %q.", o.Name, p.Name, s.Other))
			} else {
				names = append(names, o.Name)
			}
		}
		if len(names) > 1 {
			told = append(told, fmt.Sprintf("%s are owners in one process, %s.",
				list(names), p.Name))
		}
		for _, o := range p.Owners {
			told = append(told, o.String())
		}
	}
	for _, f := range s.Faults {
		told = append(told, f.String())
	}
	return strings.Join(slices.DeleteFunc(told, func(t string) bool { return t == "" }), " ")
}

// setting is what is unusual of the world.
func (s Story) setting() string {
	text := fmt.Sprintf("The lock %q has a lease of %s", s.Key, seconds(s.Lease))
	if s.Lease != Lease {
		text += fmt.Sprintf(" (times are told as if it were %s)", seconds(Lease))
	}
	if s.Repeats {
		text += ", and the driver repeats commands that are not answered"
	}
	return text + "."
}

func ahead(d time.Duration) string {
	if d < 0 {
		return seconds(-d) + " slow"
	}
	return seconds(d) + " fast"
}

// list joins several names.
func list(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// String tells what an owner does.
func (o Owner) String() string {
	var steps []string
	for _, step := range o.Steps {
		steps = append(steps, step.String())
	}
	if len(steps) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s.", o.Name, strings.Join(steps, ", "))
}

// String tells a step.
func (s Step) String() string {
	text := "calls " + string(s.Verb)
	if s.Verb == Write {
		text = "writes to the storage"
		if s.Within > 0 {
			text += fmt.Sprintf(" what it has read %s before", seconds(s.Within))
		}
	}
	if s.Anyway {
		text += " once too many"
	}
	switch {
	case s.Ended:
		text += " with a context that has ended"
	case s.Within > 0 && s.Verb != Write:
		text += fmt.Sprintf(" for at most %s", seconds(s.Within))
	}
	if s.After > 0 {
		text = fmt.Sprintf("after %s %s", seconds(s.After), text)
	}
	return text
}

// String tells a fault.
func (f Fault) String() string {
	command := fmt.Sprintf("%s's command %d", f.Process, f.Nth)
	node := fmt.Sprintf("node %d", f.Node+1)
	reply, _, _ := strings.Cut(f.Reply, " ")
	at := "At " + seconds(f.At)
	if f.OfCommand() {
		at = "After " + command + " was executed"
	}
	switch f.Kind {
	case LateRequest:
		return fmt.Sprintf("%s reaches the server %s late.", command, seconds(f.For))
	case LateReply:
		return fmt.Sprintf("The reply to %s comes %s late.", command, seconds(f.For))
	case LostRequest:
		return fmt.Sprintf("The connection breaks before %s is sent.", command)
	case LostReply:
		return fmt.Sprintf("The reply to %s is lost.", command)
	case Hangs:
		return fmt.Sprintf("%s is neither executed nor answered.", command)
	case ErrorReply:
		return fmt.Sprintf("The server answers %s with the error %s.", command, reply)
	case DiesBefore:
		return fmt.Sprintf("%s dies before its command %d.", f.Process, f.Nth)
	case DiesAfter:
		return fmt.Sprintf("%s dies after its command %d was executed.", f.Process, f.Nth)
	case Dies:
		return fmt.Sprintf("%s %s dies.", at, f.Process)
	case Stops:
		return fmt.Sprintf("%s %s's process stops for %s.", at, f.Process, seconds(f.For))
	case CutOff:
		return fmt.Sprintf("%s %s is cut off from the servers for %s.", at, f.Process,
			seconds(f.For))
	case Errors:
		return fmt.Sprintf("%s the servers answer everything with the error %s for %s.", at,
			reply, seconds(f.For))
	case Restart:
		return fmt.Sprintf("%s %s restarts without its data.", at, node)
	case Failover:
		return fmt.Sprintf("%s %s fails over to a replica that knows nothing.", at, node)
	case Flush:
		return fmt.Sprintf("%s the scripts of %s are flushed.", at, node)
	case Deleted:
		return fmt.Sprintf("%s an operator deletes the lock's key on %s.", at, node)
	case Full:
		return fmt.Sprintf("%s the memory of %s is full.", at, node)
	case Down:
		return fmt.Sprintf("%s %s is down for %s.", at, node, seconds(f.For))
	default:
		return fmt.Sprintf("%s the clock of %s is set forward by %s.", at, node,
			seconds(f.For))
	}
}

func seconds(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", d.Seconds()), "0"), ".") +
		" s"
}
