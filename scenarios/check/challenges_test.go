package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

// languages start the locks of testdata/challenges, which are written in each of them.
var languages = map[string][]string{
	"python": {"python3", filepath.Join("testdata", "challenges", "lock.py")},
	"node":   {"node", filepath.Join("testdata", "challenges", "lock.mjs")},
}

// modes are what the lock in a language may be: the solution of a challenge, "4", or a wrong
// one, "4 no token".
func modes(t *testing.T, file string) (right, wrong []string) {
	text, err := inCheckout("scenarios/check/" + filepath.ToSlash(file))
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`(?m)^  +"?(\d( [^"]+)?)"?: `).FindAllStringSubmatch(text, -1) {
		if found[2] == "" {
			right = append(right, found[1])
		} else {
			wrong = append(wrong, found[1])
		}
	}
	return right, wrong
}

// A solution passes its challenge and not the next one. redlock follows diamond and has no
// next one.
func TestASolutionPassesItsChallengeInEveryLanguage(t *testing.T) {
	if *onRedis != servers.Auto {
		t.Skip("it starts servers, which is asked for with -redis auto")
	}
	locktest.Long(t, "it checks 80 locks in real time")
	check := filepath.Join(t.TempDir(), "check")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", check).CombinedOutput()
	require.NoError(t, err, string(out))
	all := len(scenarios.Challenges())
	atOnce := make(chan struct{}, 4)
	for language, command := range languages {
		right, wrong := modes(t, command[1])
		require.Len(t, right, all, language)
		require.Len(t, wrong, 4*all, language)
		try := func(challenge, mode string, passes bool) {
			t.Run(language+"/"+challenge+"/"+mode, func(t *testing.T) {
				t.Parallel()
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				text, passed := tried(t.Context(), check, challenge, command, mode)
				assert.Equal(t, passes, passed, text)
			})
		}
		for i, mode := range right {
			try(mode, mode, true)
			if i+1 < all {
				try(right[i+1], mode, false)
			}
		}
		for _, mode := range wrong {
			try(mode[:1], mode, false)
		}
	}
}

// tried says whether a lock passes a challenge.
func tried(ctx context.Context, check, challenge string, command []string, mode string) (
	text string, passed bool) {
	args := append([]string{"-challenge", challenge, "--"}, command...)
	out, err := exec.CommandContext(ctx, check, append(args, mode)...).CombinedOutput()
	return string(out), err == nil && strings.Contains(string(out), "passed: your lock stands on")
}

// The command shows what the page has.
func TestEveryChallengeHasATaskAndThreeHints(t *testing.T) {
	for i, c := range scenarios.Challenges() {
		task, hints := readChallenge(i + 1)
		assert.Less(t, 300, len(task))
		assert.Contains(t, task, "stands on "+c.Rung)
		assert.NotContains(t, task, "<!--")
		assert.Len(t, hints, 3)
	}
}
