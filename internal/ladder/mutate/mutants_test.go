package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts are the changes as "what: the changed source".
func texts(t *testing.T, change func([]byte) ([]change, error),
	source string) []string {
	t.Helper()
	changes, err := change([]byte(source))
	require.NoError(t, err)
	var all []string
	for _, c := range changes {
		m := c.apply([]byte(source), "rung/file")
		lines := strings.Split(string(m.content), "\n")
		all = append(all, m.what+": "+strings.TrimSpace(lines[m.line-1]))
	}
	return all
}

func TestGoIsChangedInOnePlaceAtATime(t *testing.T) {
	assert.Equal(t, []string{
		"the condition is never true: if (a < 1 && !b) && false {",
		"the condition is always true: if (a < 1 && !b) || true {",
		"&& becomes ||: if a < 1 || !b {",
		"< becomes <=: if a <= 1 && !b {",
		"< becomes >=: if a >= 1 && !b {",
		"1 becomes 2: if a < 2 && !b {",
		"! is left out: if a < 1 && b {",
		"left out: {}",
		"left out: {}",
		"i() is left out: k := func() { {}; j() }",
		"j() is left out: k := func() { i(); {} }",
		"err becomes nil: return false, nil",
		"false becomes true: return true, err",
	}, texts(t, changesOfGo, `package p

func f(a int, b bool) (bool, error) {
	if a < 1 && !b {
		a = g()
		h()
	}
	s := "x" + "y"
	k := func() { i(); j() }
	return false, err
}
`))
}

func TestLuaIsChangedInOnePlaceAtATime(t *testing.T) {
	assert.Equal(t, []string{
		"== becomes ~=: if redis.call('GET', KEYS[1]) ~= ARGV[1] then",
		"the condition is always false: if false then",
		"the condition is always true: if true then",
		"left out: do end",
		"return 0 becomes return 1: return 1",
	}, texts(t, changesOfLua, `-- x.lua: 1 == 1 and so on
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return 0
`))
}

func TestAnEquivalentMutantIsKnownByItsText(t *testing.T) {
	m := mutant{file: "reentrant/lock.go", from: "a == b", what: "left out"}
	assert.True(t, m.is(explanation{"lock.go", "a == b", "left out", "why"}))
	assert.True(t, m.is(explanation{"reentrant/lock.go", "a == b", "left out", "why"}))
	assert.False(t, m.is(explanation{"redlock/lock.go", "a == b", "left out", "why"}))
	assert.False(t, m.is(explanation{"lock.go", "a == b", "== becomes !=", "why"}))
}

// An explanation that is about no mutant any more must go.
func TestEveryExplanationIsAboutAMutant(t *testing.T) {
	var all []mutant
	for _, rung := range strings.Split(defaultRungs, ",") {
		mutants, err := mutantsOf("../../..", rung)
		require.NoError(t, err)
		all = append(all, mutants...)
	}
	require.Greater(t, len(all), 500)
	for _, e := range equivalents() {
		about := false
		for _, m := range all {
			about = about || m.is(e)
		}
		assert.True(t, about, "%+v", e)
	}
}
