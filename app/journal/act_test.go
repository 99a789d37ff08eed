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
	"stampede/app/test/fakes"
)

// written makes a journal of so many acts.
func written(t *testing.T, acts int) *fakes.Acts {
	t.Helper()
	f := &fakes.Acts{}
	for range acts {
		_, err := f.Act(context.Background(), journal.Actor{Name: "ada"}, func(context.Context) (journal.Act, error) {
			return journal.Act{Kind: "sale.pause", Object: "sale:5", Note: "n"}, nil
		})
		fakes.Must(t, err)
	}
	return f
}

// TestVerifySeesEveryChange: whatever somebody does to the journal afterwards, the walk says the first row that does
// not fit; what was written anew as a whole, a head that was written down.
func TestVerifySeesEveryChange(t *testing.T) {
	t.Parallel()
	const rows = journal.Page + 20 // more than a page
	good := written(t, rows)
	head, _ := good.JournalHead(t.Context())
	early := journal.Head{Seq: 7, Hash: good.Rows[6].Hash}
	rewrite := func(f *fakes.Acts, from int) {
		for i := from; i < len(f.Rows); i++ {
			if f.Rows[i].PrevHash = ""; i > 0 {
				f.Rows[i].PrevHash = f.Rows[i-1].Hash
			}
			f.Rows[i].Hash = f.Rows[i].Sum()
		}
	}
	for name, c := range map[string]struct {
		change func(f *fakes.Acts)
		head   string
		at     int64 // 0: all is well
	}{
		"nothing":                      {func(*fakes.Acts) {}, "", 0},
		"nothing, with a head":         {func(*fakes.Acts) {}, early.String(), 0},
		"who":                          {func(f *fakes.Acts) { f.Rows[3].ActorName = "eve" }, "", 4},
		"what, on a later page":        {func(f *fakes.Acts) { f.Rows[journal.Page+3].Kind = "sale.end" }, "", journal.Page + 4},
		"when":                         {func(f *fakes.Acts) { f.Rows[0].At = 1 }, "", 1},
		"an answer":                    {func(f *fakes.Acts) { f.Rows[4].Answer = json.RawMessage(`{}`) }, "", 5},
		"with its own hash":            {func(f *fakes.Acts) { f.Rows[3].Note = "m"; f.Rows[3].Hash = f.Rows[3].Sum() }, "", 5},
		"one taken out":                {func(f *fakes.Acts) { f.Rows = slices.Delete(f.Rows, 3, 4) }, "", 5},
		"the last taken out":           {func(f *fakes.Acts) { f.Rows = f.Rows[:rows-1] }, head.String(), rows},
		"all taken out":                {func(f *fakes.Acts) { f.Rows = nil }, early.String(), 1},
		"two exchanged":                {func(f *fakes.Acts) { f.Rows[3], f.Rows[4] = f.Rows[4], f.Rows[3] }, "", 5},
		"written anew":                 {func(f *fakes.Acts) { f.Rows[3].Note = "m"; rewrite(f, 3) }, early.String(), 7},
		"written anew, after the head": {func(f *fakes.Acts) { f.Rows[9].Note = "m"; rewrite(f, 9) }, early.String(), 0},
	} {
		f := &fakes.Acts{Rows: slices.Clone(good.Rows)}
		c.change(f)
		report, err := (&journal.Journal{Store: f}).VerifyJournal(t.Context(), c.head)
		if err != nil || report.OK != (c.at == 0) || report.At != c.at || (report.Wrong == "") != report.OK {
			t.Errorf("%s: %+v, %v; want row %d", name, report, err, c.at)
		}
	}
	// Beside the journal stands its head: rows taken off the end are missed without one that was written down.
	cut := &cutOff{fakes.Acts{Rows: good.Rows[:5]}, head}
	report, err := (&journal.Journal{Store: cut}).VerifyJournal(t.Context(), "")
	if err != nil || report.OK || report.At != 6 {
		t.Errorf("rows are missing at the end: %+v, %v", report, err)
	}
}

type cutOff struct {
	fakes.Acts
	head journal.Head
}

func (c *cutOff) JournalHead(context.Context) (journal.Head, error) { return c.head, nil }

// Everything that a row says is under its hash, and the encoding does not let a character wander from one field into
// the next.
func TestSumTellsFieldsApart(t *testing.T) {
	t.Parallel()
	a, b := journal.Entry{Kind: "ab", Object: "c"}, journal.Entry{Kind: "a", Object: "bc"}
	if a.Sum() == b.Sum() {
		t.Error("two rows have one hash")
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
			t.Errorf("%s is under the hash: %v", name, !same)
		}
	}
}

func TestHeadsAreRead(t *testing.T) {
	t.Parallel()
	good := journal.Head{Seq: 12, Hash: strings.Repeat("0a", 32)}
	if got, err := journal.ParseHead(good.String()); err != nil || got != good {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "12", "12:", ":" + good.Hash, "0:" + good.Hash, "x:" + good.Hash, "12:" + good.Hash + "0", "12:zz"} {
		if _, err := journal.ParseHead(text); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
