package scenarios

// The family of waking: how those who wait learn of a release.

var lostWakeup = Scenario{
	Name:   "lost_wakeup",
	Family: Waking,
	Story: "A unlocks at 5 s, and the message to the waiters is lost. B must get" +
		" the lock within one lease.",
	Invariants: []string{Orphaned},
	tell: func(t *telling) {
		if t.onStore("it sends no message that could be lost alone") {
			return
		}
		t.world(func(s *story) {
			cast := s.cast("A", "B")
			a, b := cast[0], cast[1]
			s.operator(func(o *actor) {
				o.at(0)
				o.Step("mutes", func() {
					for i := range t.settings.nodes {
						s.Node(i).Mute(true)
					}
				})
			})
			s.play(func() {
				a.at(0)
				a.mustAcquire()
				a.at(5 * second)
				a.release()
			}, func() {
				b.at(second)
				b.mustComeFree(4*second+lease, "A unlocked at 5.007")
			})
			s.judge(Orphaned, true)
		})
	},
}
