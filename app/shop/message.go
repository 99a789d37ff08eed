package shop

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"stampede/app/trace"
)

// Message notifies all nodes of changes in a partition. Pub/sub may drop messages, so each has the number of its
// predecessor. After a gap a node reads the rows (F4, F5).
//
//	<number of the previous message> <number of this message>\n
//	<user> <order> <sale> <rev> <state> <frame>\n     per change; a frame is an order event without its cursor
//
// The frame of a traced buy ends with the field "trace", which the receiving node removes. Redis numbers the messages
// of a partition from 1. After Redis has lost writes, numbers repeat.
type Message struct {
	Before, Number int64
	lines          string
}

// Change is the newest state of an order, sent to its buyer.
type Change struct {
	User, Order, Sale ID
	Rev               int
	State             OrderState
	Frame             string         // JSON without line breaks
	Trace             *trace.SpanRef // parent of the next span; nil: not traced
}

// IsFirst reports whether the change is the first state of a pending order.
func (c *Change) IsFirst() bool { return c.Rev == 1 && c.State == Pending }

// AppendChange appends the newest state of an order to a message, as its frame. The publishing script adds the first
// line.
func AppendChange(b []byte, o *Order, frame []byte) []byte {
	for _, n := range [...]int64{int64(o.User), int64(o.ID), int64(o.Sale), int64(o.Rev)} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	b = append(append(b, o.State...), ' ')
	b = append(b, frame...)
	return append(b, '\n')
}

// The trace field at the end of a frame. No order event has this field itself.
const (
	traceField = `,"trace":"`
	traceEnd   = `"}`
	traceTail  = len(traceField) + trace.SpanRefLength + len(traceEnd)
)

// AppendTraced is AppendChange for a traced buy.
func AppendTraced(b []byte, o *Order, frame []byte, trace trace.SpanRef) []byte {
	b = AppendChange(b, o, frame)
	b = append(b[:len(b)-len("}\n")], traceField...)
	b = append(b, trace.String()...)
	return append(append(b, traceEnd...), '\n')
}

// untracedFrame returns the frame without its trace field, and the trace. The trace is nil if the frame has none.
func untracedFrame(frame string) (string, *trace.SpanRef) {
	start := len(frame) - traceTail
	if start <= 0 || !strings.HasSuffix(frame, traceEnd) || !strings.HasPrefix(frame[start:], traceField) {
		return frame, nil
	}
	ref := trace.ParseSpanRef(frame[start+len(traceField) : len(frame)-len(traceEnd)])
	if ref == nil {
		return frame, nil
	}
	return frame[:start] + "}", ref
}

// ParseMessage reads the first line of a message. Changes reads the other lines.
func ParseMessage(text string) (Message, error) {
	head, lines, ok := strings.Cut(text, "\n")
	before, number, hasNumber := strings.Cut(head, " ")
	m := Message{lines: lines}
	var errBefore, errNumber error
	m.Before, errBefore = strconv.ParseInt(before, 10, 64)
	m.Number, errNumber = strconv.ParseInt(number, 10, 64)
	if !ok || !hasNumber || errBefore != nil || errNumber != nil || m.Before < 0 || m.Number != m.Before+1 {
		return Message{}, fmt.Errorf("message %.60q: want two consecutive numbers: %w", text, ErrPermanent)
	}
	return m, nil
}

// Changes yields the changes in order. It does not allocate, because most changes are for users who are not connected
// to this node. It yields an error for an unreadable line and stops; the caller then reads the remaining changes from
// the rows.
func (m Message) Changes() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for remaining := m.lines; remaining != ""; {
			line, after, ok := strings.Cut(remaining, "\n")
			c, valid := parseChange(line)
			if !ok || !valid {
				err := fmt.Errorf("message %d, line %.60q: want user, order, sale, rev, state and frame: %w", m.Number, line,
					ErrPermanent)
				yield(Change{}, err)
				return
			}
			if !yield(c, nil) {
				return
			}
			remaining = after
		}
	}
}

// parseChange reads a line of a message; it accepts only what AppendChange writes.
func parseChange(line string) (c Change, valid bool) {
	valid = true
	next := func() (field string) {
		field, line, _ = strings.Cut(line, " ")
		return field
	}
	var rev ID // written like an id
	for _, number := range [...]*ID{&c.User, &c.Order, &c.Sale, &rev} {
		var isID bool
		*number, isID = readID(next())
		valid = valid && isID
	}
	c.Rev, c.State = int(rev), OrderState(next())
	c.Frame, c.Trace = untracedFrame(line)
	return c, valid && c.State != "" && c.Frame != ""
}

// ChangesChannel returns the name of the channel for the messages of a partition. All logical databases of a server
// share channels, so the name contains a namespace. All nodes of one shop use the same namespace.
func ChangesChannel(namespace string, partition int) string {
	return "stampede:changes:" + namespace + ":" + strconv.Itoa(partition)
}

// Instant is an instant of the database's clock in one history of the database. After a failover to a server that may
// lack commits, instants of the old and the new server are not comparable.
type Instant struct {
	At      Millis
	History string // identifies the current server, 8 hex digits
}

// SequenceEnd is the end of the message sequence of a partition, as stored in Redis.
type SequenceEnd struct {
	Last        int64 // number of the last message; 0: no message yet, or Redis has no state of the partition
	Epoch       int64 // epoch of the partition; 0: Redis has no state of it
	Unreachable bool  // the partition's Redis is unreachable: the end is unknown
}

// ChangesQuery selects the orders of a user whose newest state has the change timestamp Since or a later one.
type ChangesQuery struct {
	User  ID
	Since Millis // by the database's clock
}

// Changes has the newest states of a user's orders that changed since an instant, the oldest change first.
type Changes struct {
	Orders []Order
	More   bool // the limit was reached: Orders is incomplete
}

// PublishDeadline is the maximum age, by Redis time, of the start of a transaction whose rows are published.
const PublishDeadline = 15 * time.Second
