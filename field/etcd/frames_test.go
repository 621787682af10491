package etcd_test

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/lockladder/lockladder/scenarios"
)

// Requests cuts what a client sends to an etcd server into the frames of HTTP/2.
// The frame that begins a call has its name as text. A call that keeps a lease
// alive, or watches, has none: it goes on as long as the session.
func (s *store) Requests(from io.Reader) scenarios.Frames {
	f := newFrames(from, func(headers *http2.MetaHeadersFrame) string {
		return call(headers.PseudoValue("path"))
	})
	f.preface = int64(len(http2.ClientPreface))
	return f
}

// Replies cuts what an etcd server sends.
func (s *store) Replies(from io.Reader) scenarios.Frames {
	return newFrames(from, func(headers *http2.MetaHeadersFrame) string {
		if headers.PseudoValue("status") == "" {
			return "" // what follows an answer
		}
		return "an answer"
	})
}

// frames are one direction of a connection.
type frames struct {
	from    io.Reader // raw has what was read from it
	raw     bytes.Buffer
	preface int64 // bytes before the first frame
	framer  *http2.Framer
	text    func(*http2.MetaHeadersFrame) string
}

func newFrames(from io.Reader, text func(*http2.MetaHeadersFrame) string) *frames {
	f := &frames{text: text}
	f.from = io.TeeReader(from, &f.raw)
	f.framer = http2.NewFramer(nil, f.from)
	f.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return f
}

// Next reads one frame, and with a frame of headers those that continue it.
func (f *frames) Next() (raw []byte, text string, err error) {
	f.raw.Reset()
	if f.preface > 0 {
		_, err = io.CopyN(io.Discard, f.from, f.preface)
		f.preface = 0
		return bytes.Clone(f.raw.Bytes()), "", err
	}
	frame, err := f.framer.ReadFrame()
	if _, is := errors.AsType[http2.StreamError](err); err != nil && !is {
		return nil, "", err
	}
	if headers, is := frame.(*http2.MetaHeadersFrame); is {
		text = f.text(headers)
	}
	return bytes.Clone(f.raw.Bytes()), text, nil
}

// call is the name of a call, of those that locks are made of.
func call(path string) string {
	switch name := path[strings.LastIndexByte(path, '/')+1:]; name {
	case "Txn", "Range", "DeleteRange", "LeaseGrant", "LeaseRevoke":
		return name
	}
	return ""
}
