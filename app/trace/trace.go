package trace

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"
)

// Tracer records the path of single buys, selected at random. Other buys have no spans, allocate nothing, and carry no
// extra data. A nil Tracer samples no buy.
//
//	buy (frame or request → reply) ─ reserve.lua ─ entry (in the stream) ─ fulfil ┬ commit
//	                                                                              ├ finish.lua
//	                                                                              └ push (on every publishing node)
//
// Between processes, the reference of a span (SpanRef) is in a field of the stream entry, and with the change in the
// message to the nodes.
type Tracer struct {
	Ratio float64 // part of the buys to sample, 0 to 1
	// Record receives ended spans. It must neither block nor fail: spans that it cannot accept are lost.
	Record func(s *Span)
}

// SpanRef is a reference to a span: its trace and its id.
type SpanRef struct {
	Trace [16]byte
	ID    [8]byte
}

// SpanRefLength is the length of the text of a SpanRef, in bytes.
const SpanRefLength = 49

// String returns the text form of a SpanRef: the hexadecimal digits of the trace and of the span, with a minus between
// them.
func (r SpanRef) String() string {
	b := make([]byte, 0, SpanRefLength)
	b = append(hex.AppendEncode(b, r.Trace[:]), '-')
	return string(hex.AppendEncode(b, r.ID[:]))
}

// ParseSpanRef parses the text form; nil: the text is invalid.
func ParseSpanRef(text string) *SpanRef {
	if len(text) != SpanRefLength || text[32] != '-' {
		return nil
	}
	var r SpanRef
	_, errTrace := hex.Decode(r.Trace[:], []byte(text[:32]))
	_, errID := hex.Decode(r.ID[:], []byte(text[33:]))
	if errTrace != nil || errID != nil || r.Trace == ([16]byte{}) || r.ID == ([8]byte{}) {
		return nil
	}
	return &r
}

// Span is one stage of a traced buy, used by one goroutine at a time. A buy without a trace has a nil Span, whose
// methods do nothing. Notes contain only ids of sales and orders, and codes. They contain no user input, token or user
// id, because traces are stored in another system.
type Span struct {
	SpanRef
	Parent     [8]byte // zero: the first span of the trace
	Name       string
	Begin, End time.Time
	Notes      []SpanNote
	ErrorCode  string // the code of the error; "" without one

	tracer *Tracer
}

// SpanNote is an attribute of a span: a text, or a number if the text is "".
type SpanNote struct {
	Name   string
	Text   string
	Number int64
}

// Sample starts the trace of a buy that arrived at the given time over the given channel ("socket", "http"); nil for
// most buys.
func (t *Tracer) Sample(via string, begin time.Time) *Span {
	if t == nil || rand.Float64() >= t.Ratio {
		return nil
	}
	s := &Span{Name: "buy", Begin: begin, tracer: t}
	binary.NativeEndian.PutUint64(s.Trace[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(s.Trace[8:], 1+rand.Uint64N(1<<63)) // never zero, which is not a valid trace id
	s.assignID()
	s.Note("via", via)
	return s
}

// Follow starts a child span of the referenced span at the given time; nil without a reference.
func (t *Tracer) Follow(ref *SpanRef, name string, begin time.Time) *Span {
	if t == nil || ref == nil {
		return nil
	}
	s := &Span{SpanRef: SpanRef{Trace: ref.Trace}, Parent: ref.ID, Name: name, Begin: begin, tracer: t}
	s.assignID()
	return s
}

func (s *Span) assignID() { binary.NativeEndian.PutUint64(s.ID[:], 1+rand.Uint64N(1<<63)) }

// Child starts a child span now.
func (s *Span) Child(name string) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.Follow(&s.SpanRef, name, time.Now())
}

// Note adds a text note.
func (s *Span) Note(name, text string) {
	if s != nil {
		s.Notes = append(s.Notes, SpanNote{Name: name, Text: text})
	}
}

// NoteNumber adds a number note.
func (s *Span) NoteNumber(name string, n int64) {
	if s != nil {
		s.Notes = append(s.Notes, SpanNote{Name: name, Number: n})
	}
}

// NoteID adds the id of a sale or an order as a note.
func (s *Span) NoteID(name string, id int64) {
	if s != nil {
		s.Note(name, strconv.FormatInt(id, 10))
	}
}

// Finish ends the span now and records it. Only the code of an error is kept: texts may contain private data.
func (s *Span) Finish(err error) { s.FinishAt(time.Now(), err) }

// FinishAt is Finish at the given time. A span does not end before it begins: another clock may be ahead of this one.
func (s *Span) FinishAt(end time.Time, err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.ErrorCode = codeOf(err)
	}
	s.End = end
	if s.Begin.After(end) {
		s.Begin = end
	}
	s.tracer.Record(s)
}

// codeOf returns the code of a shop error, "internal" for any other one.
func codeOf(err error) string {
	var known interface{ ErrorCode() string }
	if errors.As(err, &known) {
		return known.ErrorCode()
	}
	return "internal"
}
