package shop

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"stampede/app/trace"
)

// Message notifies all nodes of changes in a partition. PubSub may drop messages, so each names its predecessor: after
// a gap a node reads the rows (F4, F5).
//
//	<number of the one before> <its own number>\n
//	<user> <frame>\n                                  per change; a frame is an order event without its cursor
//
// The frame of a traced buy ends in the field "trace", which the receiving node removes. Redis numbers the messages of
// a partition from 1; after it has lost writes, numbers repeat.
type Message struct {
	Before, Number int64
	lines          string
}

// Change is the newest state of an order, for its buyer.
type Change struct {
	User  ID
	Frame string         // JSON; it must have no line break
	Trace *trace.SpanRef // where its trace goes on; nil: it is not traced
}

// AppendChange appends a change to a message; the publishing script puts the first line in front.
func AppendChange(b []byte, user ID, frame []byte) []byte {
	b = strconv.AppendInt(b, int64(user), 10)
	b = append(b, ' ')
	b = append(b, frame...)
	return append(b, '\n')
}

// The field with the trace, as it ends a frame: no order event ends like this by itself.
const (
	traceField = `,"trace":"`
	traceEnd   = `"}`
	traceTail  = len(traceField) + trace.SpanRefLength + len(traceEnd)
)

// AppendTraced is AppendChange for a buy that is traced.
func AppendTraced(b []byte, user ID, frame []byte, trace trace.SpanRef) []byte {
	b = AppendChange(b, user, frame)
	b = append(b[:len(b)-len("}\n")], traceField...)
	b = append(b, trace.String()...)
	return append(append(b, traceEnd...), '\n')
}

// untracedFrame takes the trace off a frame that has one.
func untracedFrame(frame string) (string, *trace.SpanRef) {
	at := len(frame) - traceTail
	if at <= 0 || !strings.HasSuffix(frame, traceEnd) || !strings.HasPrefix(frame[at:], traceField) {
		return frame, nil
	}
	ref := trace.ParseSpanRef(frame[at+len(traceField) : len(frame)-len(traceEnd)])
	if ref == nil {
		return frame, nil
	}
	return frame[:at] + "}", ref
}

// ParseMessage reads the first line of a message; its changes are read by Changes.
func ParseMessage(text string) (Message, error) {
	head, lines, ok := strings.Cut(text, "\n")
	before, number, two := strings.Cut(head, " ")
	m := Message{lines: lines}
	var errBefore, errNumber error
	m.Before, errBefore = strconv.ParseInt(before, 10, 64)
	m.Number, errNumber = strconv.ParseInt(number, 10, 64)
	if !ok || !two || errBefore != nil || errNumber != nil || m.Before < 0 || m.Number != m.Before+1 {
		return Message{}, fmt.Errorf("message %.60q: want two numbers, one after the other: %w", text, ErrPermanent)
	}
	return m, nil
}

// Changes reads the changes one after the other, without allocating: most are of users who are not connected here. A
// line that cannot be read comes as an error and is the last: its rows and those behind it are read then.
func (m Message) Changes() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for rest := m.lines; rest != ""; {
			line, after, ok := strings.Cut(rest, "\n")
			who, frame, two := strings.Cut(line, " ")
			user, known := readID(who)
			if !ok || !two || !known || frame == "" {
				err := fmt.Errorf("message %d, line %.60q: want a user and a frame: %w", m.Number, line, ErrPermanent)
				yield(Change{}, err)
				return
			}
			plain, trace := untracedFrame(frame)
			if !yield(Change{user, plain, trace}, nil) {
				return
			}
			rest = after
		}
	}
}

// ChangesChannel is where the messages of a partition are published. Channels are shared by all logical databases of a
// server, therefore they carry a namespace, which is the same for all nodes of one shop.
func ChangesChannel(namespace string, partition int) string {
	return "stampede:changes:" + namespace + ":" + strconv.Itoa(partition)
}

// Instant is an instant of the database's clock, in one history of the database: after a failover to a server that may
// lack commits, instants of the old one say nothing about the new one.
type Instant struct {
	At      Millis
	History string // 8 hex digits, of the server that answers
}

// ChainEnd is how far the messages of a partition have come, as Redis says.
type ChainEnd struct {
	Told  int64 // number of the last message; 0: none yet, or Redis knows nothing of the partition
	Epoch int64 // of the partition; 0: Redis knows nothing of it
	Away  bool  // the server that holds the partition does not answer: nobody knows the end
}

// ChangesQuery asks for the orders of a user whose newest state was stamped at an instant or later.
type ChangesQuery struct {
	User  ID
	Since Millis // the database's clock
}

// Changes are the newest states of a user's orders that changed since an instant, the oldest change first.
type Changes struct {
	Orders []Order
	More   bool // there are more than were asked for; Orders is not complete
}

// PublishWithin is how old, by Redis time, the beginning of a transaction may be whose rows are published.
const PublishWithin = 15 * time.Second
