package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stampede/app/journal"
	"stampede/app/shop"
)

// memoryJournal is a journal in memory.
type memoryJournal struct{ all []journal.Entry }

func (m *memoryJournal) head() journal.Head {
	if len(m.all) == 0 {
		return journal.Head{}
	}
	last := m.all[len(m.all)-1]
	return journal.Head{Seq: last.Seq, Hash: last.Hash}
}

func (m *memoryJournal) read(_ context.Context, seq int64, limit int) ([]journal.Entry, error) {
	from := min(int(seq)-1, len(m.all))
	return m.all[from:min(from+limit, len(m.all))], nil
}

// rewrite recomputes the hashes of the rows, starting at index from.
func (m *memoryJournal) rewrite(from int) {
	for i := from; i < len(m.all); i++ {
		if m.all[i].PrevHash = ""; i > 0 {
			m.all[i].PrevHash = m.all[i-1].Hash
		}
		m.all[i].Hash = m.all[i].Sum()
	}
}

// newJournal returns a journal of n operations.
func newJournal(n int) *memoryJournal {
	r := &memoryJournal{}
	for i := range n {
		r.all = append(r.all, journal.Entry{
			Seq: int64(i) + 1, ActorName: "ada", Kind: "sale.pause", Object: "sale:5", Note: "n",
		})
	}
	r.rewrite(0)
	return r
}

// TestVerifyFindsEveryChange: the verification finds the first changed row of a journal. A stored head reveals a
// journal whose hashes were all recomputed.
func TestVerifyFindsEveryChange(t *testing.T) {
	t.Parallel()
	const total = journal.Page + 20 // more than one page
	good := newJournal(total)
	head, none := good.head(), journal.Head{}
	earlyHead := journal.Head{Seq: 7, Hash: good.all[6].Hash}
	for name, c := range map[string]struct {
		change func(r *memoryJournal)
		head   journal.Head
		at     int64 // 0: valid
	}{
		"no change":                    {func(*memoryJournal) {}, none, 0},
		"no change, with a head":       {func(*memoryJournal) {}, earlyHead, 0},
		"actor changed":                {func(r *memoryJournal) { r.all[3].ActorName = "eve" }, none, 4},
		"kind changed on a later page": {func(r *memoryJournal) { r.all[journal.Page+3].Kind = "sale.end" }, none, journal.Page + 4},
		"time changed":                 {func(r *memoryJournal) { r.all[0].At = 1 }, none, 1},
		"result changed":               {func(r *memoryJournal) { r.all[4].Result = json.RawMessage(`{}`) }, none, 5},
		"row and its hash changed":     {func(r *memoryJournal) { r.all[3].Note = "m"; r.all[3].Hash = r.all[3].Sum() }, none, 5},
		"row removed":                  {func(r *memoryJournal) { r.all = slices.Delete(r.all, 3, 4) }, none, 5},
		"last row removed":             {func(r *memoryJournal) { r.all = r.all[:total-1] }, head, total},
		"all rows removed":             {func(r *memoryJournal) { r.all = nil }, earlyHead, 1},
		"two rows exchanged":           {func(r *memoryJournal) { r.all[3], r.all[4] = r.all[4], r.all[3] }, none, 5},
		"rewritten before the head":    {func(r *memoryJournal) { r.all[3].Note = "m"; r.rewrite(3) }, earlyHead, 7},
		"rewritten after the head":     {func(r *memoryJournal) { r.all[9].Note = "m"; r.rewrite(9) }, earlyHead, 0},
	} {
		r := &memoryJournal{all: slices.Clone(good.all)}
		c.change(r)
		report, err := journal.Verify(t.Context(), r.read, r.head(), c.head)
		if err != nil || report.OK != (c.at == 0) || report.At != c.at || (report.Problem == "") != report.OK {
			t.Errorf("%s: got %+v, %v; want an error at row %d (0: none)", name, report, err, c.at)
		}
	}
	// The head of the journal is stored separately, so rows removed at the end are found without a given head.
	cut := &memoryJournal{all: good.all[:5]}
	report, err := journal.Verify(t.Context(), cut.read, head)
	if err != nil || report.OK || report.At != 6 {
		t.Errorf("rows removed at the end: got %+v, %v; want an error at row 6", report, err)
	}
}

// The hash covers all fields of a row, and the encoding separates the fields.
func TestSumCoversAndSeparatesFields(t *testing.T) {
	t.Parallel()
	a, b := journal.Entry{Kind: "ab", Object: "c"}, journal.Entry{Kind: "a", Object: "bc"}
	if a.Sum() == b.Sum() {
		t.Error("two different rows have the same hash")
	}
	empty := journal.Entry{}
	for i := range reflect.TypeFor[journal.Entry]().NumField() {
		var e journal.Entry
		field := reflect.ValueOf(&e).Elem().Field(i)
		switch field.Kind() {
		case reflect.Int64:
			field.SetInt(1)
		case reflect.String:
			field.SetString("x")
		default:
			field.SetBytes([]byte("1"))
		}
		name := reflect.TypeFor[journal.Entry]().Field(i).Name
		if same := e.Sum() == empty.Sum(); same != (name == "Hash") {
			t.Errorf("the hash covers %s: got %v, want %v", name, !same, same)
		}
	}
}

func TestParseHeadRejectsInvalidHeads(t *testing.T) {
	t.Parallel()
	good := journal.Head{Seq: 12, Hash: strings.Repeat("0a", 32)}
	if got, err := journal.ParseHead(good.String()); err != nil || got != good {
		t.Errorf("got %v, %v; want %v", got, err, good)
	}
	for _, text := range []string{"", "12", "12:", ":" + good.Hash, "0:" + good.Hash, "x:" + good.Hash, "12:" + good.Hash + "0", "12:zz"} {
		if _, err := journal.ParseHead(text); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
			t.Errorf("%q: got %v, want bad_request", text, err)
		}
	}
}
