package zookeeper_test

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/scenarios"
)

// Requests cuts what a client sends to a ZooKeeper server into requests. A
// request that belongs to the session, such as a ping, has no text.
func (s *store) Requests(from io.Reader) scenarios.Frames { return messages(from, request) }

// Replies cuts what a ZooKeeper server sends. An event has no text.
func (s *store) Replies(from io.Reader) scenarios.Frames { return messages(from, reply) }

// messages are one direction of a connection. The first one opens the session.
func messages(from io.Reader, text func(payload []byte) string) *storetest.Packets {
	return &storetest.Packets{From: from,
		Length: func(head []byte) int { return int(number32(head)) },
		Text: func(nth int, raw []byte) string {
			if nth == 0 {
				return ""
			}
			return text(raw[4:])
		}}
}

// operations are the requests that locks are made of.
var operations = map[int32]string{1: "create", 2: "delete", 3: "exists",
	4: "get", 8: "children", 12: "children"}

func request(payload []byte) string {
	if len(payload) < 12 {
		return ""
	}
	name, known := operations[number32(payload[4:])]
	if !known {
		return ""
	}
	if length := int(number32(payload[8:])); length >= 0 &&
		length <= len(payload)-12 {
		name += " " + string(payload[12:12+length])
	}
	return name
}

func reply(payload []byte) string {
	if len(payload) < 16 || number32(payload) < 0 {
		return "" // an event, or the answer to a ping
	}
	if code := number32(payload[12:]); code != 0 {
		return fmt.Sprintf("error %d", code)
	}
	return "ok"
}

func number32(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }
