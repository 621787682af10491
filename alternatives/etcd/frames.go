package etcd

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// Requests cuts what a client sends to an etcd server into the frames of HTTP/2.
// The frame that begins a call has its name as text. A call that keeps a lease
// alive, or watches, has none: it goes on as long as the session.
func Requests(from io.Reader) *Frames {
	return &Frames{from: from, preface: len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		headers: hpack.NewDecoder(4096, nil), request: true}
}

// Replies cuts what an etcd server sends.
func Replies(from io.Reader) *Frames {
	return &Frames{from: from, headers: hpack.NewDecoder(4096, nil)}
}

// Frames are one direction of a connection.
type Frames struct {
	from    io.Reader
	preface int // bytes before the first frame
	headers *hpack.Decoder
	request bool
	block   bytes.Buffer
}

// The types and flags of frames that matter (RFC 9113, section 6).
const (
	headersFrame = 1
	continuation = 9
	endHeaders   = 0x4
	padded       = 0x8
	priority     = 0x20
)

// Next reads one frame.
func (f *Frames) Next() (raw []byte, text string, err error) {
	if f.preface > 0 {
		raw = make([]byte, f.preface)
		f.preface = 0
		_, err := io.ReadFull(f.from, raw)
		return raw, "", err
	}
	raw = make([]byte, 9)
	if _, err := io.ReadFull(f.from, raw); err != nil {
		return nil, "", err
	}
	length := int(raw[0])<<16 | int(raw[1])<<8 | int(raw[2])
	raw = append(raw, make([]byte, length)...)
	if _, err := io.ReadFull(f.from, raw[9:]); err != nil {
		return nil, "", err
	}
	if kind := raw[3]; kind == headersFrame || kind == continuation {
		text = f.header(kind, raw[4], raw[9:])
	}
	return raw, text, nil
}

// header reads a part of a block of headers. Every block must be read, because
// each adds to the table that the next ones refer to.
func (f *Frames) header(kind, flags byte, payload []byte) string {
	if kind == headersFrame {
		if flags&padded != 0 && len(payload) > 0 {
			payload = payload[1 : len(payload)-int(payload[0])]
		}
		if flags&priority != 0 && len(payload) >= 5 {
			payload = payload[5:]
		}
	}
	f.block.Write(payload)
	if flags&endHeaders == 0 {
		return ""
	}
	fields, err := f.headers.DecodeFull(bytes.Clone(f.block.Bytes()))
	f.block.Reset()
	if err != nil {
		return ""
	}
	for _, field := range fields {
		switch {
		case f.request && field.Name == ":path":
			return call(field.Value)
		case !f.request && field.Name == ":status":
			return "an answer"
		}
	}
	return ""
}

// call is the name of a call, of those that locks are made of.
func call(path string) string {
	switch name := path[strings.LastIndexByte(path, '/')+1:]; name {
	case "Txn", "Range", "DeleteRange", "LeaseGrant", "LeaseRevoke":
		return name
	}
	return ""
}
