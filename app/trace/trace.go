package trace

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"
)

// Tracer records the way of single buys. Which ones is chance: for the others there are no spans, nothing is allocated,
// and nothing is sent along. A nil Tracer samples none.
//
//	buy (frame or request → reply) ─ reserve.lua ─ entry (in the stream) ─ fulfil ┬ commit
//	                                                                              ├ finish.lua
//	                                                                              └ push (on every node that tells)
//
// What goes from process to process is the name of a span, SpanRef: in a field of the stream entry, and with the change
// in the message to the nodes.
type Tracer struct {
	Ratio float64 // of the buys that are sampled, 0 to 1
	To    SpanRecorder
}

// SpanRecorder takes spans that have ended. It must neither wait nor fail: what it cannot take is lost.
type SpanRecorder interface {
	Record(s *Span)
}

// SpanRef names a span to others: its trace, and the span itself.
type SpanRef struct {
	Trace [16]byte
	ID    [8]byte
}

// SpanRefLength is how long the text of a SpanRef is.
const SpanRefLength = 49

// String is how a SpanRef travels: the hexadecimal digits of the trace and of the span, with a minus between them.
func (r SpanRef) String() string {
	b := make([]byte, 0, SpanRefLength)
	b = append(hex.AppendEncode(b, r.Trace[:]), '-')
	return string(hex.AppendEncode(b, r.ID[:]))
}

// ParseSpanRef reads what String wrote; nil when the text is nothing of the kind.
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

// Span is one stage of a traced buy, in one goroutine at a time. The methods of a nil Span, of a buy that is not
// traced, do nothing. Its notes are ids of sales and orders, and codes: nothing that a person has typed, no token and
// no user, because traces are kept elsewhere.
type Span struct {
	SpanRef
	Parent     [8]byte // zero: the trace begins here
	Name       string
	Begin, End time.Time
	Notes      []SpanNote
	Failed     string // the code of the error; "" without one

	tracer *Tracer
}

// SpanNote is something to know of a span: a text, or a number if the text is "".
type SpanNote struct {
	Name   string
	Text   string
	Number int64
}

// Sample begins the trace of a buy that came in at the instant given, by the way named ("socket", "http"); nil for
// most.
func (t *Tracer) Sample(via string, begin time.Time) *Span {
	if t == nil || rand.Float64() >= t.Ratio {
		return nil
	}
	s := &Span{Name: "buy", Begin: begin, tracer: t}
	binary.NativeEndian.PutUint64(s.Trace[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(s.Trace[8:], 1+rand.Uint64N(1<<63)) // never zero, which names no trace
	s.mint()
	s.Note("via", via)
	return s
}

// Follow begins a span behind the one that is named, at the instant given; nil when nothing is named.
func (t *Tracer) Follow(ref *SpanRef, name string, begin time.Time) *Span {
	if t == nil || ref == nil {
		return nil
	}
	s := &Span{SpanRef: SpanRef{Trace: ref.Trace}, Parent: ref.ID, Name: name, Begin: begin, tracer: t}
	s.mint()
	return s
}

func (s *Span) mint() { binary.NativeEndian.PutUint64(s.ID[:], 1+rand.Uint64N(1<<63)) }

// Child begins a span behind this one.
func (s *Span) Child(name string) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.Follow(&s.SpanRef, name, time.Now())
}

// Note, NoteNumber and NoteID note something by name.
func (s *Span) Note(name, text string) {
	if s != nil {
		s.Notes = append(s.Notes, SpanNote{Name: name, Text: text})
	}
}

// NoteNumber is Note of a number.
func (s *Span) NoteNumber(name string, n int64) {
	if s != nil {
		s.Notes = append(s.Notes, SpanNote{Name: name, Number: n})
	}
}

// NoteID is Note of an id of a sale or an order.
func (s *Span) NoteID(name string, id int64) {
	if s != nil {
		s.Note(name, strconv.FormatInt(id, 10))
	}
}

// Finish ends the span now and hands it over. Of an error only the code is kept: texts may say more.
func (s *Span) Finish(err error) { s.FinishAt(time.Now(), err) }

// FinishAt is Finish at an instant given. No span ends before it begins: another clock may be ahead of this one.
func (s *Span) FinishAt(end time.Time, err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.Failed = codeOf(err)
	}
	s.End = end
	if s.Begin.After(end) {
		s.Begin = end
	}
	s.tracer.To.Record(s)
}

// codeOf returns the code of an error for people, internal for any other one.
func codeOf(err error) string {
	var known interface{ ErrorCode() string }
	if errors.As(err, &known) {
		return known.ErrorCode()
	}
	return "internal"
}
