package scenarios

import (
	"cmp"
	"context"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// plays has a story happen in the scenario's world.
func (s *S) plays(story swarm.Story) {
	if story.Has(swarm.Failover) {
		s.everyNode((*lab.Node).Replicate)
	}
	if story.Fixed {
		s.fixedLease()
	}
	if story.Patient {
		s.nodeTimeout(lease / 2)
	}
	// A story has many waiters, and each attempt on several nodes takes many commands.
	s.pollEvery(time.Duration(s.settings.nodes+1) / 2 * second)
	storage := s.Storage(0)
	s.resting = map[string]time.Duration{}
	var scripts, others []func()
	clients := s.settings.story.clients
	for _, p := range story.Processes {
		for _, o := range p.Owners {
			a := clients[p.Name]
			if o.Apart {
				others = append(others, func() { s.elsewhere(a, o, story.Other) })
				continue
			}
			if a == nil {
				a = s.owner(s.Client(p.Name), o.Name)
				clients[p.Name] = a
			} else {
				a = s.beside(a, o.Name)
			}
			if story.Together {
				a.phase /= 70
			}
			scripts = append(scripts, func() {
				for _, step := range o.Steps {
					a.performs(step, storage)
				}
			})
		}
	}
	s.settled = true
	if s.arrives(); len(s.Failures()) > 0 {
		return
	}
	for _, p := range story.Processes {
		clients[p.Name].process.Skew = p.Ahead
	}
	s.errors = []string{"NOSCRIPT"}
	for _, f := range story.Faults {
		s.errors = append(s.errors, f.Reply)
	}
	operator := s.Client("~")
	s.operate = func() {
		for _, begin := range others {
			begin()
		}
		for i, f := range story.Faults {
			f.At += time.Duration(i) * time.Microsecond // no two at one instant
			s.befalls(operator, clients[f.Process], f)
		}
	}
	s.run(scripts...)
	if len(s.Failures()) == 0 {
		s.afterwards()
	}
}

// arrives gives each actor its lock. None was used before: scripts are not known.
func (s *S) arrives() {
	for _, a := range s.actors {
		l, err := a.build(s.Key)
		if err != nil {
			s.Fail("%w", err)
			return
		}
		a.lock = l
	}
	s.Record()
}

// befalls has a fault happen that no command waits for.
func (s *S) befalls(operator *lab.Client, a *actor, f swarm.Fault) {
	if f.OfCommand() || f.Process != "" && a == nil {
		return
	}
	node := s.Node(f.Node)
	do := map[swarm.Kind]func(){
		swarm.Errors:   func() { s.Log().Befalls(f.Node, "all commands are answered with errors") },
		swarm.Dies:     func() { a.Crash() },
		swarm.Restart:  func() { node.Restart("restarts and has lost its data") },
		swarm.Failover: node.Promote,
		swarm.Flush:    node.FlushScripts,
		swarm.Deleted:  node.Delete,
		swarm.Full:     node.Fill,
		swarm.Down:     func() { node.Refuse(true) },
		swarm.Clock:    func() { node.JumpClock(s.Lasts(f.For)) },
	}
	if a.isolated(f, f.At) {
		return
	}
	operator.Go(func() {
		operator.Sleep(f.At)
		operator.Step(string(f.Kind), do[f.Kind])
		if f.Kind == swarm.Down {
			operator.Sleep(f.For)
			operator.Step("is over", func() { node.Refuse(false) })
		}
	})
}

// isolated has a fault that lets nothing pass between a process and the servers begin at a
// moment, if it is one.
func (a *actor) isolated(f swarm.Fault, from time.Duration) bool {
	switch f.Kind {
	case swarm.Stops:
		a.Stop(from, from+f.For, nil)
	case swarm.CutOff:
		a.Hold(from, from+f.For, nil)
	default:
		return false
	}
	return true
}

// staged is a story that is played, and the processes in it.
type staged struct {
	swarm.Story
	clients  map[string]*actor
	befallen map[int]time.Duration // which of the faults have befallen a command, and when
}

// fate is what happens to a client's n-th command in a story.
func (story *staged) fate(client string, nth int, now time.Duration) (lab.Fault, bool) {
	for i, f := range story.Faults {
		if f.Kind == swarm.Errors && f.At <= now && now < f.At+f.For {
			return lab.Fault{Error: f.Reply}, true
		}
		if f.Process != client || f.Nth != nth {
			continue
		}
		story.befallen[i] = now
		if story.clients[client].isolated(f, now+time.Microsecond) { // its reply is late
			continue
		}
		return map[swarm.Kind]lab.Fault{
			swarm.LateRequest: {Deliver: now + f.For},
			swarm.LateReply:   {AnswerAfter: f.For},
			swarm.LostRequest: {Refuse: true},
			swarm.LostReply:   {LoseReply: true},
			swarm.Hangs:       {Hang: true},
			swarm.ErrorReply:  {Error: f.Reply},
			swarm.DiesBefore:  {CrashBefore: true},
			swarm.DiesAfter:   {CrashAfter: true},
		}[f.Kind], true
	}
	return lab.Fault{}, false
}

// performs takes one step of a story.
func (a *actor) performs(step swarm.Step, storage *lab.Storage) {
	a.Sleep(step.After + a.phase)
	for a.process.Asleep() { // a stopped process does nothing
		a.Sleep(second / 10)
	}
	if step.Verb == swarm.Write {
		if a.depth > 0 && !a.told() {
			a.writesAfter(step.Within, storage)
		}
		return
	}
	within := cmp.Or(step.Within, swarm.Patience)
	ctx, cancel := a.within(within)
	defer cancel()
	if step.Ended {
		cancel()
	}
	began := a.run.Now()
	if a.other != "" {
		a.callsAlone(ctx, step)
	} else {
		a.Step("asks", func() {
			a.wakes()
			a.calling = true
		})
		a.calls(ctx, step)
		a.Step("rests", a.rests)
	}
	took := a.run.Now() - began
	a.returnsInTime(step, took-within)
	a.answersPromptly(step, took)
}

// calls makes a step's call.
func (a *actor) calls(ctx context.Context, step swarm.Step) {
	of := a
	switch step.Verb {
	case swarm.TryRLock, swarm.RLock, swarm.RUnlock:
		of = a.reads
	}
	switch step.Verb {
	case swarm.TryLock, swarm.TryRLock:
		asked := of.asks()
		granted, err := of.tryWith(ctx)
		of.answered(step, asked, granted && err == nil, err)
	case swarm.Lock, swarm.RLock:
		asked := of.asks()
		of.lockedAt = asked.at
		err := of.acquireWith(ctx)
		of.lockedAt = 0
		of.answered(step, asked, err == nil, err)
	case swarm.Unlock, swarm.RUnlock:
		if of.depth > 0 || step.Anyway {
			called := of.unlocks()
			called.ends = step.Ended || step.Within > 0
			of.mustHaveBeenTold()
			of.asking = true
			err := of.releaseWith(ctx)
			of.mustHaveFreed(called, err)
			of.mustHaveKept(called.held && !step.Anyway, err)
		}
	}
}

// afterwards has somebody else take the lock when all is over.
func (s *S) afterwards() {
	if s.settings.story.Has(swarm.Full) {
		return
	}
	z := s.actor("Z")
	l, err := z.build(s.Key)
	if err != nil {
		s.Fail("%w", err)
		return
	}
	z.lock = l
	z.Go(func() {
		z.Sleep(3 * lease)
		z.Step("judges", func() {
			renewing := map[string]int{}
			for _, a := range s.actors {
				a.mustNotHaveLost()
				a.wakes()
				renewing[a.Name] += min(a.depth+a.reads.depth, 1)
			}
			for _, p := range s.settings.story.Processes { // a lock may keep one for each owner
				of := s.settings.story.clients[p.Name].process
				if n := of.InUse(); n > (len(p.Owners)+renewing[p.Name])*s.settings.nodes && !of.Dead() && !s.settings.story.Repeats {
					z.suspect(LeftBehind, "nobody does anything any more, and %s has %d connections in use", p.Name, n)
				}
			}
			if left := s.lasting(); len(left) > 0 {
				z.suspect(LeftBehind, "nobody does anything any more, and no expiry will ever"+
					" remove %q", left[0])
			}
		})
		if err := z.acquire(3 * lease); err != nil {
			z.report(Orphaned, "%s, and Z can't have it", cmp.Or(s.hung(), "nobody has it"))
			return
		}
		z.Step("judged", z.judgesToken)
		z.release()
	})
	s.Play()
}

// hung says who never gave the lock back, if anybody.
func (s *S) hung() string {
	for _, a := range s.actors {
		if (a.depth > 0 || a.reads.depth > 0) && !a.process.Dead() && !a.told() {
			return a.owner + " has it and never gives it back"
		}
	}
	return ""
}
