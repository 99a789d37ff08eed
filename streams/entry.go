package streams

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/trace"
)

// entryVersion identifies the layout of the field `terms`; reserve.lua writes it as the first term. An entry with
// another version is unreadable and becomes a dead letter.
const entryVersion = "2"

// The parts of the field `terms`, in their order. Only the last part may contain the separator.
const (
	termVersion = iota
	termOrder
	termEpoch
	termBase
	termTicket
	termHold
	termQty
	termPrice
	termSaleVersion
	termHash
	termKey
	termSale
	termUser
	termAddress
)

var termNames = [...]string{
	"v", "order", "epoch", "base", "ticket", "hold", "qty", "price", "version", "hash", "key", "sale", "user", "addr",
}

type terms [len(termNames)]string

// splitTerms splits the field `terms`; false: the field has too few parts.
func splitTerms(field string) (t terms, ok bool) {
	for i := range t[:termAddress] {
		if t[i], field, ok = strings.Cut(field, ":"); !ok {
			return terms{}, false
		}
	}
	t[termAddress] = field
	return t, ok
}

var errContentGone = errors.New("its content is no longer in the stream")

// parseEntry decodes a stream entry. ParseErr is the error of the first unreadable field. The readable fields are set:
// the dead letter contains them, and the sale of the entry counts it as settled.
func parseEntry(partition int, m redis.XMessage) shop.Entry {
	e := shop.Entry{StreamID: m.ID, Partition: partition}
	if m.Values == nil {
		e.ParseErr = errContentGone
		return e
	}
	r := readTerms(m.Values)
	e.Order, e.Sale, e.User = shop.ID(r.positive(termOrder)), shop.ID(r.positive(termSale)),
		shop.ID(r.positive(termUser))
	e.Epoch, e.Ticket, e.Hold = r.positive(termEpoch), r.positive(termTicket), r.positive(termHold)
	e.Seq = r.seq(e.Ticket)
	e.Qty, e.PriceFen, e.SaleVersion = int(r.positive(termQty)), r.number(termPrice), r.number(termSaleVersion)
	e.Key, e.Hash, e.Address = r.terms[termKey], r.terms[termHash], r.terms[termAddress]
	id, valid := entryID(m.ID)
	if !valid {
		r.fail("id", m.ID)
	}
	e.ReservedAt = shop.Millis(id.Time)
	e.Trace = trace.ParseSpanRef(text(m.Values["trace"]))
	e.ParseErr = r.err
	return e
}

// entryID parses the id of a stream entry; false for other texts, such as the "0" of a group that has read nothing.
func entryID(s string) (id shop.EntryID, ok bool) {
	ms, number, hasDash := strings.Cut(s, "-")
	at, errTime := strconv.ParseUint(ms, 10, 63)
	n, errNumber := strconv.ParseUint(number, 10, 63)
	return shop.EntryID{Time: int64(at), Number: int64(n)}, hasDash && errTime == nil && errNumber == nil
}

// followingID returns the smallest stream id after s. XPENDING needs it: the embedded Redis has no exclusive ranges
// there.
func followingID(s string) string {
	id, _ := entryID(s)
	return fmt.Sprintf("%d-%d", id.Time, id.Number+1)
}

// termReader parses terms and keeps the error of the first unreadable term.
type termReader struct {
	terms terms
	err   error
}

func readTerms(values map[string]any) termReader {
	var r termReader
	field, ok := values["terms"].(string)
	var valid bool
	if r.terms, valid = splitTerms(field); !ok || !valid {
		r.fail("terms", field)
	}
	return r
}

func (r *termReader) fail(name, value string) {
	if r.err == nil {
		if len(value) > 40 {
			value = value[:40] + "…"
		}
		r.err = fmt.Errorf("field %s: %q", name, value)
	}
}

// number parses a whole number of at least 0.
func (r *termReader) number(term int) int64 {
	v := r.terms[term]
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		r.fail(termNames[term], v)
		return 0
	}
	return n
}

// seq returns the number of the reservation within its partition: its base plus its ticket.
func (r *termReader) seq(ticket int64) int64 {
	if v := r.terms[termVersion]; v != entryVersion {
		r.fail(termNames[termVersion], v)
	}
	base, err := strconv.ParseInt(r.terms[termBase], 10, 64)
	seq := base + ticket
	if err != nil || seq < 1 {
		r.fail(termNames[termBase], r.terms[termBase])
	}
	return seq
}

func (r *termReader) positive(term int) int64 {
	n := r.number(term)
	if n == 0 {
		r.fail(termNames[term], "0")
	}
	return n
}
