package mysql_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/scenarios"
)

// Requests cuts what a client sends to a MySQL server into packets. Statements
// have a text; a greeting, a keep-alive and a farewell have none.
func (s *store) Requests(from io.Reader) scenarios.Frames { return packets(from, request) }

// Replies cuts what a MySQL server sends. The first packet of a connection says how the
// server calls it: a version of the protocol, a text that ends with a zero, and the
// number.
func (s *store) Replies(from io.Reader) scenarios.Frames {
	return packets(from, func(nth int, raw []byte) string {
		if nth == 0 && len(raw) > 5 && raw[4] == 10 {
			_, after, _ := strings.Cut(string(raw[5:]), "\x00")
			if len(after) >= 4 {
				s.mu.Lock()
				s.threads = append(s.threads,
					fmt.Sprint(binary.LittleEndian.Uint32([]byte(after))))
				s.mu.Unlock()
			}
		}
		return reply(raw[4:])
	})
}

// packets begin with three bytes of length, and a number that counts from 0 in each
// exchange.
func packets(from io.Reader, text func(nth int, raw []byte) string) *storetest.Packets {
	return &storetest.Packets{From: from, Text: text, Length: func(head []byte) int {
		return int(binary.LittleEndian.Uint32(head) & 0xffffff)
	}}
}

// query is the command that carries a statement (COM_QUERY).
const query = 3

func request(_ int, raw []byte) string {
	if raw[3] != 0 || len(raw) < 5 || raw[4] != query {
		return ""
	}
	return strings.Join(strings.Fields(string(raw[5:])), " ")
}

func reply(payload []byte) string {
	switch {
	case len(payload) >= 3 && payload[0] == 0xff:
		return fmt.Sprintf("error %d", binary.LittleEndian.Uint16(payload[1:]))
	case len(payload) >= 2 && payload[0] == 0 && payload[1] < 251:
		return fmt.Sprintf("OK, %d rows", payload[1])
	}
	return "a result"
}
