package swarm

import "slices"

// What a judge must know of a story.

// Has says whether a fault of one of the kinds is in the story.
func (s Story) Has(kinds ...Kind) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool {
		return slices.Contains(kinds, f.Kind)
	})
}

// Spaced says whether nothing goes wrong but errors, with two commands between them that are executed.
func (s Story) Spaced() bool {
	return !s.Shares() && !s.Nests() && !slices.ContainsFunc(s.Faults, func(f Fault) bool {
		return f.Kind != ErrorReply || slices.ContainsFunc(s.Faults, func(next Fault) bool {
			return next.Process == f.Process && (next.Nth == f.Nth+1 || next.Nth == f.Nth+2)
		})
	})
}

// Skewed says whether the clocks of processes differ.
func (s Story) Skewed() bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Ahead != 0 })
}

// Ends says whether the context of one of these calls has ended before it, or may end in it.
func (s Story) Ends(calls ...Verb) bool {
	return s.hasStep(func(step Step) bool {
		return (step.Ended || step.Within > 0) && slices.Contains(calls, step.Verb)
	})
}

func (s Story) hasStep(is func(Step) bool) bool {
	return s.hasOwner(func(o Owner) bool { return slices.ContainsFunc(o.Steps, is) })
}

func (s Story) hasOwner(is func(Owner) bool) bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool {
		return slices.ContainsFunc(p.Owners, is)
	})
}

// Shares says whether several owners share a process.
func (s Story) Shares() bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool {
		apart := slices.IndexFunc(p.Owners, func(o Owner) bool { return o.Apart })
		return len(p.Owners) > 2 || len(p.Owners) > 1 && apart < 0
	})
}

// Nests says whether an owner locks again before it unlocks.
func (s Story) Nests() bool {
	return s.hasOwner(func(o Owner) bool {
		depth := 0
		return slices.ContainsFunc(o.Steps, func(step Step) bool {
			switch step.Verb {
			case TryLock, Lock, TryRLock, RLock:
				depth++
			case Unlock, RUnlock:
				depth = max(depth-1, 0)
			}
			return depth > 1
		})
	})
}

// Steps is how many things happen in the story.
func (s Story) Steps() int {
	steps := len(s.Faults)
	for _, p := range s.Processes {
		for _, o := range p.Owners {
			steps += len(o.Steps)
		}
	}
	return steps
}
