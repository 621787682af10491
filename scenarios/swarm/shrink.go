package swarm

import (
	"slices"
	"time"
)

// Shrink makes a story shorter, as long as what is left breaks the lock in the same way:
// without processes, owners, faults and steps, with an ordinary world, and with short and
// round times. It tries the same stories in the same order each time, and ends when no
// story that is shorter by one change breaks the lock.
func Shrink(s Story, breaks func(Story) bool) Story {
	for {
		shorter := s.shorter()
		i := slices.IndexFunc(shorter, breaks)
		if i < 0 {
			return s
		}
		s = shorter[i]
	}
}

// shorter are the stories that are shorter by one change, those first that lack the most.
func (s Story) shorter() []Story {
	return slices.Concat(s.fewer(), s.ordinary(), s.sooner())
}

// clone is a copy that may be changed.
func (s Story) clone() Story {
	s.Faults = slices.Clone(s.Faults)
	s.Processes = slices.Clone(s.Processes)
	for i, p := range s.Processes {
		s.Processes[i].Owners = slices.Clone(p.Owners)
		for j, o := range p.Owners {
			s.Processes[i].Owners[j].Steps = slices.Clone(o.Steps)
		}
	}
	return s
}

// with is the story after a change to a copy.
func (s Story) with(change func(*Story)) Story {
	s = s.clone()
	change(&s)
	return s
}

// fewer are the stories that lack a process, an owner, a fault, or one or two steps.
func (s Story) fewer() (stories []Story) {
	add := func(change func(*Story)) { stories = append(stories, s.with(change)) }
	for i, p := range s.Processes {
		if len(s.Processes) > 1 {
			add(func(s *Story) { s.Processes = slices.Delete(s.Processes, i, i+1) })
		}
		for j := range p.Owners {
			if j > 0 || len(p.Owners) > 1 && !p.Owners[1].Apart {
				add(func(s *Story) {
					of := &s.Processes[i]
					of.Owners = slices.Delete(of.Owners, j, j+1)
					if len(of.Owners) == 1 && !of.Owners[0].Apart {
						of.Owners[0].Name = of.Name
					}
				})
			}
		}
	}
	for i := range s.Faults {
		add(func(s *Story) { s.Faults = slices.Delete(s.Faults, i, i+1) })
	}
	for _, n := range []int{2, 1} { // a lock and its unlock go together
		for i, p := range s.Processes {
			for j, o := range p.Owners {
				for k := range len(o.Steps) - n + 1 {
					add(func(s *Story) {
						of := &s.Processes[i].Owners[j]
						if k+n < len(of.Steps) { // what follows comes when it came
							for _, gone := range of.Steps[k : k+n] {
								of.Steps[k+n].After += gone.After
							}
						}
						of.Steps = slices.Delete(of.Steps, k, k+n)
					})
				}
			}
		}
	}
	return stories
}

// ordinary are the stories in which one thing is as usual that isn't.
func (s Story) ordinary() (stories []Story) {
	add := func(unusual bool, change func(*Story)) {
		if unusual {
			stories = append(stories, s.with(change))
		}
	}
	add(s.Key != keys[0], func(s *Story) { s.Key, s.Other = keys[0], others[keys[0]] })
	add(s.Lease != Lease, func(s *Story) { s.Lease = Lease })
	add(s.Repeats, func(s *Story) { s.Repeats = false })
	add(s.Together, func(s *Story) { s.Together = false })
	add(s.Patient, func(s *Story) { s.Patient = false })
	add(s.Fixed, func(s *Story) { s.Fixed = false })
	for i, p := range s.Processes {
		add(p.Ahead != 0, func(s *Story) { s.Processes[i].Ahead = 0 })
		for j, o := range p.Owners {
			for k, step := range o.Steps {
				add(step.Within != 0 || step.Ended, func(s *Story) {
					of := &s.Processes[i].Owners[j].Steps[k]
					of.Within, of.Ended = 0, false
				})
			}
		}
	}
	for i, f := range s.Faults {
		add(f.Nth > 1, func(s *Story) { s.Faults[i].Nth-- })
		add(f.Reply != "" && f.Reply != errorReplies[0],
			func(s *Story) { s.Faults[i].Reply = errorReplies[0] })
	}
	return stories
}

// sooner are the stories in which one time is shorter: none at all, a round one, or half.
func (s Story) sooner() (stories []Story) {
	add := func(d time.Duration, set func(*Story, time.Duration)) {
		for _, shorter := range []time.Duration{0, d.Truncate(Lease), d.Truncate(second),
			d.Truncate(second / 10), (d / 2).Truncate(second)} {
			if d > 0 && shorter < d {
				stories = append(stories, s.with(func(s *Story) { set(s, shorter) }))
			}
		}
	}
	for i, p := range s.Processes {
		for j, o := range p.Owners {
			for k, step := range o.Steps {
				add(step.After, func(s *Story, d time.Duration) {
					s.Processes[i].Owners[j].Steps[k].After = d
				})
			}
		}
	}
	for i, f := range s.Faults {
		add(f.At, func(s *Story, d time.Duration) { s.Faults[i].At = d })
		add(f.For, func(s *Story, d time.Duration) { s.Faults[i].For = d })
	}
	return stories
}
