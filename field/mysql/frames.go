package mysql

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Requests cuts what a client sends to a MySQL server into packets. Statements
// have a text; a greeting, a keep-alive and a farewell have none.
func Requests(from io.Reader) *Packets { return &Packets{from, request} }

// Replies cuts what a MySQL server sends into packets.
func Replies(from io.Reader) *Packets { return &Packets{from, reply} }

// Packets are one direction of a connection.
type Packets struct {
	from io.Reader
	text func(number byte, payload []byte) string
}

// Next reads one packet: three bytes of length, a number that counts from 0 in
// each exchange, and the payload.
func (p *Packets) Next() (raw []byte, text string, err error) {
	raw = make([]byte, 4)
	if _, err := io.ReadFull(p.from, raw); err != nil {
		return nil, "", err
	}
	length := int(binary.LittleEndian.Uint32(raw) & 0xffffff)
	raw = append(raw, make([]byte, length)...)
	if _, err := io.ReadFull(p.from, raw[4:]); err != nil {
		return nil, "", err
	}
	return raw, p.text(raw[3], raw[4:]), nil
}

// query is the command that carries a statement (COM_QUERY).
const query = 3

func request(number byte, payload []byte) string {
	if number != 0 || len(payload) == 0 || payload[0] != query {
		return ""
	}
	return strings.Join(strings.Fields(string(payload[1:])), " ")
}

func reply(_ byte, payload []byte) string {
	switch {
	case len(payload) >= 3 && payload[0] == 0xff:
		return fmt.Sprintf("error %d", binary.LittleEndian.Uint16(payload[1:]))
	case len(payload) >= 2 && payload[0] == 0 && payload[1] < 251:
		return fmt.Sprintf("OK, %d rows", payload[1])
	}
	return "a result"
}
