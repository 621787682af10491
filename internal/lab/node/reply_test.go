package node

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepliesOfAllKindsAreReadAsTheyAre(t *testing.T) {
	replies := []string{"+OK\r\n", "-ERR no\r\n", ":1\r\n", ",1.5\r\n", "_\r\n", "#t\r\n",
		"(3492890328409238509324850943850943825024385\r\n", "$5\r\nhello\r\n",
		"$-1\r\n", "*-1\r\n", "*0\r\n", "*2\r\n:1\r\n$1\r\na\r\n", "=7\r\ntxt:a\r\n\r\n",
		"!5\r\nERR a\r\n", "~1\r\n+a\r\n", "%1\r\n+a\r\n*1\r\n=5\r\ntxt:b\r\n",
		"|1\r\n+a\r\n:1\r\n*1\r\n#f\r\n", ">2\r\n+message\r\n+b\r\n"}
	r := bufio.NewReader(strings.NewReader(strings.Join(replies, "")))
	for _, want := range replies {
		got, err := readReply(r)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestWhatIsNoReplyIsAnError(t *testing.T) {
	for _, text := range []string{"", "hello\r\n", "$5\r\nhel", "*2\r\n:1\r\n"} {
		_, err := readReply(bufio.NewReader(strings.NewReader(text)))
		assert.Error(t, err, "%q", text)
	}
}
