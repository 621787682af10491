package zookeeper

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Requests cuts what a client sends to a ZooKeeper server into requests. A
// request that belongs to the session, such as a ping, has no text.
func Requests(from io.Reader) *Messages {
	return &Messages{from: from, text: request}
}

// Replies cuts what a ZooKeeper server sends. An event has no text.
func Replies(from io.Reader) *Messages {
	return &Messages{from: from, text: reply}
}

// Messages are one direction of a connection.
type Messages struct {
	from  io.Reader
	text  func(payload []byte) string
	begun bool
}

// Next reads one message: four bytes of length, and the payload. The first one
// of each direction opens the session.
func (m *Messages) Next() (raw []byte, text string, err error) {
	raw = make([]byte, 4)
	if _, err := io.ReadFull(m.from, raw); err != nil {
		return nil, "", err
	}
	length := int(binary.BigEndian.Uint32(raw))
	raw = append(raw, make([]byte, length)...)
	if _, err := io.ReadFull(m.from, raw[4:]); err != nil {
		return nil, "", err
	}
	if m.begun {
		text = m.text(raw[4:])
	}
	m.begun = true
	return raw, text, nil
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
