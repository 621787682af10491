package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// named is a package's path in a command.
var named = regexp.MustCompile(`(?:^|\s)\./([\w/.-]+)`)

// lost are the packages that a command names and that are not where it is typed:
// at the root, or where it first goes.
func lost(line string) []string {
	root := ".."
	if rest, found := strings.CutPrefix(line, "cd "); found {
		folder, rest, _ := strings.Cut(rest, " && ")
		root, line = filepath.Join(root, folder), rest
	}
	if !strings.Contains(line, "go test") && !strings.Contains(line, "go run") {
		return nil
	}
	var all []string
	for _, match := range named.FindAllStringSubmatch(line, -1) {
		folder := strings.TrimSuffix(strings.TrimSuffix(match[1], "..."), "/")
		info, err := os.Stat(filepath.Join(root, folder))
		if err != nil || !info.IsDir() {
			all = append(all, match[1])
		}
	}
	return all
}

func TestEveryPackageThatACommandNamesIsWhereItIsTyped(t *testing.T) {
	for _, c := range shownCommands(t) {
		assert.Empty(t, lost(c.line), "%s: %s", c.file, c.line)
	}
	assert.Equal(t, []string{"mysql"}, lost("go test ./gold ./mysql -run X"))
	assert.Empty(t, lost("cd alternatives && go test -count=1 ./mysql ./etcd"))
	assert.Equal(t, []string{"gold"}, lost("cd alternatives && go run ./gold"))
	assert.Empty(t, lost("RED=1 go test ./... -run X"))
}
