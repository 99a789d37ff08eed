package streams

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// entryVersion is what reserve.lua writes into the field v. A node that meets another version leaves the entry to
// one that knows it.
const entryVersion = "1"

var errContentGone = errors.New("its content is no longer in the stream")

// parseEntry reads a stream entry. What cannot be read is reported in Bad, with what could be read filled in, so
// that the dead letter and the place of others come out right.
func parseEntry(partition int, m redis.XMessage) app.Entry {
	e := app.Entry{StreamID: m.ID, Partition: partition}
	if m.Values == nil {
		e.Bad = errContentGone
		return e
	}
	r := fieldReader{values: m.Values}
	if v := r.text("v"); v != entryVersion {
		r.fail("v", v)
	}
	e.Order, e.Sale, e.User = app.ID(r.positive("order")), app.ID(r.positive("sale")), app.ID(r.positive("user"))
	e.Epoch, e.Seq, e.Ticket, e.Hold = r.positive("epoch"), r.positive("seq"), r.positive("ticket"), r.positive("hold")
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

// fieldReader reads fields until the first that cannot be read, and remembers which it was.
type fieldReader struct {
	values map[string]any
	err    error
}

func (r *fieldReader) fail(field, value string) {
	if r.err == nil {
		if len(value) > 40 {
			value = value[:40] + "…"
		}
		r.err = fmt.Errorf("field %s: %q", field, value)
	}
}

func (r *fieldReader) text(field string) string {
	v, ok := r.values[field].(string)
	if !ok {
		r.fail(field, "")
	}
	return v
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

func (r *fieldReader) positive(field string) int64 {
	n := r.number(field)
	if n == 0 {
		r.fail(field, "0")
	}
	return n
}
