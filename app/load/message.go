package load

import (
	"bytes"
	"strconv"
)

// kind is what a text frame of the server is.
type kind int

const (
	unknown kind = iota
	replied
	refused // a reply with an error
	ticked
	ordered
	parting // bye
)

// message is a frame, looked at only as far as a crowd needs: a parser for every frame would cost more than the server's
// work. The protocol's golden frames fix what comes first in each.
type message struct {
	kind kind
	id   int64 // of replied and refused
	text []byte
}

var prefixes = []struct {
	kind kind
	text []byte
}{
	{ticked, []byte(`{"ev":"tick",`)},
	{ordered, []byte(`{"ev":"order",`)},
	{parting, []byte(`{"ev":"bye",`)},
}

func read(text []byte) message {
	if rest, ok := bytes.CutPrefix(text, []byte(`{"id":`)); ok {
		id, rest := number(rest)
		if bytes.HasPrefix(rest, []byte(`,"ok":`)) {
			return message{replied, id, text}
		}
		return message{refused, id, text}
	}
	for _, p := range prefixes {
		if bytes.HasPrefix(text, p.text) {
			return message{p.kind, 0, text}
		}
	}
	return message{unknown, 0, text}
}

// number reads the digits at the start and answers what follows them.
func number(b []byte) (int64, []byte) {
	n, i := int64(0), 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:]
}

// after answers what follows the first mark, such as `"key":"`; nil without one.
func (m message) after(mark string) []byte {
	_, rest, ok := bytes.Cut(m.text, []byte(mark))
	if !ok {
		return nil
	}
	return rest
}

// word is the string after the mark, up to its closing quote.
func (m message) word(mark string) []byte {
	rest := m.after(mark)
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return nil
	}
	return rest[:end]
}

// appendOp starts an op: `{"id":…,"op":"…"`, without the closing brace.
func appendOp(dst []byte, id int64, op string) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"op":"`...)
	dst = append(dst, op...)
	return append(dst, '"')
}

// appendField appends `,"name":"value"`; the value must need no escaping.
func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":"`...)
	dst = append(dst, value...)
	return append(dst, '"')
}

// accepted reports whether a reply says that a buy was accepted, now or, when it was repeated, before.
func (m message) accepted() bool { return bytes.HasPrefix(m.after(`"ok":`), []byte(`{"order":"`)) }
