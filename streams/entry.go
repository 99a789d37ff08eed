package streams

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// entryVersion is the first of the terms that reserve.lua writes. An entry of another version is unreadable here and
// ends as a dead letter: a new layout is rolled out to all consumers before any node writes it. Entries of the version
// before are read: they had the order in a field of its own, and the seq where base is now.
const (
	entryVersion    = "2"
	entryVersionSeq = "1"
)

// termNames are the parts of the field terms, in their order. Only the last may contain the separator.
var termNames = [...]string{
	"v", "order", "epoch", "base", "ticket", "hold", "qty", "price", "version", "hash", "key", "sale", "user", "addr",
}

// splitTerms takes the field terms apart; nil when it is not what reserve.lua writes. The field order is "" but in entries
// of the version before.
func splitTerms(terms, order string) []string {
	version, rest, _ := strings.Cut(terms, ":")
	if version == entryVersionSeq {
		terms = entryVersionSeq + ":" + order + ":" + rest
	}
	split := strings.SplitN(terms, ":", len(termNames))
	if len(split) != len(termNames) {
		return nil
	}
	return split
}

var errContentGone = errors.New("its content is no longer in the stream")

// parseEntry reads a stream entry. What cannot be read is reported in Bad, with what could be read filled in, so
// that the dead letter and the place of others come out right.
func parseEntry(partition int, m redis.XMessage) app.Entry {
	e := app.Entry{StreamID: m.ID, Partition: partition}
	if m.Values == nil {
		e.Bad = errContentGone
		return e
	}
	r := newFieldReader(m.Values)
	e.Order, e.Sale, e.User = app.ID(r.positive("order")), app.ID(r.positive("sale")), app.ID(r.positive("user"))
	e.Epoch, e.Ticket, e.Hold = r.positive("epoch"), r.positive("ticket"), r.positive("hold")
	e.Seq = r.seq(e.Ticket)
	e.Qty, e.PriceFen, e.SaleVersion = int(r.positive("qty")), r.number("price"), r.number("version")
	e.Key, e.Hash, e.Address = r.text("key"), r.text("hash"), r.text("addr")
	ms, _, _ := strings.Cut(m.ID, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		r.fail("id", m.ID)
	}
	e.ReservedAt = app.Millis(at)
	e.Bad = r.err
	return e
}

// fieldReader reads fields and terms until the first that cannot be read, and remembers which it was.
type fieldReader struct {
	values map[string]any
	terms  []string
	err    error
}

func newFieldReader(values map[string]any) *fieldReader {
	r := &fieldReader{values: values}
	terms := r.field("terms")
	order, _ := values["order"].(string)
	if r.terms = splitTerms(terms, order); r.terms == nil {
		r.fail("terms", terms)
	}
	return r
}

func (r *fieldReader) fail(field, value string) {
	if r.err == nil {
		if len(value) > 40 {
			value = value[:40] + "…"
		}
		r.err = fmt.Errorf("field %s: %q", field, value)
	}
}

func (r *fieldReader) field(name string) string {
	v, ok := r.values[name].(string)
	if !ok {
		r.fail(name, "")
	}
	return v
}

// text reads a term.
func (r *fieldReader) text(name string) string {
	if r.terms == nil {
		return ""
	}
	return r.terms[slices.Index(termNames[:], name)]
}

// number reads a whole number of at least 0.
func (r *fieldReader) number(field string) int64 {
	v := r.text(field)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		r.fail(field, v)
		return 0
	}
	return n
}

// seq is the number of the reservation within its partition, from its base and its ticket.
func (r *fieldReader) seq(ticket int64) int64 {
	text := r.text("base")
	seq, err := strconv.ParseInt(text, 10, 64)
	switch v := r.text("v"); v {
	case entryVersion:
		seq += ticket
	case entryVersionSeq:
	default:
		r.fail("v", v)
	}
	if err != nil || seq < 1 {
		r.fail("base", text)
	}
	return seq
}

func (r *fieldReader) positive(field string) int64 {
	n := r.number(field)
	if n == 0 {
		r.fail(field, "0")
	}
	return n
}
