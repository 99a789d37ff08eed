package app

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fakeActs is a journal in memory.
type fakeActs struct {
	ActStore
	rows []JournalEntry
}

func (f *fakeActs) Act(
	ctx context.Context, actor Actor, do func(ctx context.Context) (Act, error),
) (Done, error) {
	for _, r := range f.rows {
		if actor.Key != "" && r.Key == actor.Key && r.ActorName == actor.Name {
			return Done{Seq: r.Seq, Answer: r.Answer, Repeated: true}, nil
		}
	}
	act, err := do(ctx)
	if err != nil {
		return Done{}, err
	}
	answer, err := json.Marshal(act.Answer)
	if err != nil {
		return Done{}, err
	}
	e := JournalEntry{
		Seq: int64(len(f.rows)) + 1, ActorName: actor.Name, Key: actor.Key, Kind: act.Kind, Object: act.Object,
		Note: act.Note, Answer: answer,
	}
	if e.Seq > 1 {
		e.PrevHash = f.rows[e.Seq-2].Hash
	}
	e.Hash = e.Sum()
	f.rows = append(f.rows, e)
	return Done{Seq: e.Seq, Answer: answer}, nil
}

func (f *fakeActs) JournalHead(context.Context) (JournalHead, error) {
	if len(f.rows) == 0 {
		return JournalHead{}, nil
	}
	last := f.rows[len(f.rows)-1]
	return JournalHead{last.Seq, last.Hash}, nil
}

func (f *fakeActs) JournalFrom(_ context.Context, seq int64, limit int) ([]JournalEntry, error) {
	var page []JournalEntry
	for _, r := range f.rows {
		if r.Seq >= seq && len(page) < limit {
			page = append(page, r)
		}
	}
	return page, nil
}

// written makes a journal of so many acts.
func written(t *testing.T, acts int) *fakeActs {
	t.Helper()
	f := &fakeActs{}
	for range acts {
		_, err := f.Act(context.Background(), Actor{Name: "ada"}, func(context.Context) (Act, error) {
			return Act{Kind: "sale.pause", Object: "sale:5", Note: "n"}, nil
		})
		must(t, err)
	}
	return f
}

// TestVerifySeesEveryChange: whatever somebody does to the journal afterwards, the walk says the first row that does
// not fit; what was written anew as a whole, a head that was written down.
func TestVerifySeesEveryChange(t *testing.T) {
	t.Parallel()
	const rows = journalPage + 20 // more than a page
	good := written(t, rows)
	head, _ := good.JournalHead(t.Context())
	early := JournalHead{7, good.rows[6].Hash}
	rewrite := func(f *fakeActs, from int) {
		for i := from; i < len(f.rows); i++ {
			if f.rows[i].PrevHash = ""; i > 0 {
				f.rows[i].PrevHash = f.rows[i-1].Hash
			}
			f.rows[i].Hash = f.rows[i].Sum()
		}
	}
	for name, c := range map[string]struct {
		change func(f *fakeActs)
		head   string
		at     int64 // 0: all is well
	}{
		"nothing":                      {func(*fakeActs) {}, "", 0},
		"nothing, with a head":         {func(*fakeActs) {}, early.String(), 0},
		"who":                          {func(f *fakeActs) { f.rows[3].ActorName = "eve" }, "", 4},
		"what, on a later page":        {func(f *fakeActs) { f.rows[journalPage+3].Kind = "sale.end" }, "", journalPage + 4},
		"when":                         {func(f *fakeActs) { f.rows[0].At = 1 }, "", 1},
		"an answer":                    {func(f *fakeActs) { f.rows[4].Answer = json.RawMessage(`{}`) }, "", 5},
		"with its own hash":            {func(f *fakeActs) { f.rows[3].Note = "m"; f.rows[3].Hash = f.rows[3].Sum() }, "", 5},
		"one taken out":                {func(f *fakeActs) { f.rows = slices.Delete(f.rows, 3, 4) }, "", 5},
		"the last taken out":           {func(f *fakeActs) { f.rows = f.rows[:rows-1] }, head.String(), rows},
		"all taken out":                {func(f *fakeActs) { f.rows = nil }, early.String(), 1},
		"two exchanged":                {func(f *fakeActs) { f.rows[3], f.rows[4] = f.rows[4], f.rows[3] }, "", 5},
		"written anew":                 {func(f *fakeActs) { f.rows[3].Note = "m"; rewrite(f, 3) }, early.String(), 7},
		"written anew, after the head": {func(f *fakeActs) { f.rows[9].Note = "m"; rewrite(f, 9) }, early.String(), 0},
	} {
		f := &fakeActs{rows: slices.Clone(good.rows)}
		c.change(f)
		report, err := (&Journal{Store: f}).VerifyJournal(t.Context(), c.head)
		if err != nil || report.OK != (c.at == 0) || report.At != c.at || (report.Wrong == "") != report.OK {
			t.Errorf("%s: %+v, %v; want row %d", name, report, err, c.at)
		}
	}
	// Beside the journal stands its head: rows taken off the end are missed without one that was written down.
	cut := &cutOff{fakeActs{rows: good.rows[:5]}, head}
	if report, err := (&Journal{Store: cut}).VerifyJournal(t.Context(), ""); err != nil || report.OK || report.At != 6 {
		t.Errorf("rows are missing at the end: %+v, %v", report, err)
	}
}

type cutOff struct {
	fakeActs
	head JournalHead
}

func (c *cutOff) JournalHead(context.Context) (JournalHead, error) { return c.head, nil }

// Everything that a row says is under its hash, and the encoding does not let a character wander from one field into
// the next.
func TestSumTellsFieldsApart(t *testing.T) {
	t.Parallel()
	a, b := JournalEntry{Kind: "ab", Object: "c"}, JournalEntry{Kind: "a", Object: "bc"}
	if a.Sum() == b.Sum() {
		t.Error("two rows have one hash")
	}
	empty := JournalEntry{}
	for i := range reflect.TypeFor[JournalEntry]().NumField() {
		var e JournalEntry
		field := reflect.ValueOf(&e).Elem().Field(i)
		switch field.Kind() {
		case reflect.Int64:
			field.SetInt(1)
		case reflect.String:
			field.SetString("x")
		default:
			field.SetBytes([]byte("1"))
		}
		name := reflect.TypeFor[JournalEntry]().Field(i).Name
		if same := e.Sum() == empty.Sum(); same != (name == "Hash") {
			t.Errorf("%s is under the hash: %v", name, !same)
		}
	}
}

func TestHeadsAreRead(t *testing.T) {
	t.Parallel()
	good := JournalHead{12, strings.Repeat("0a", 32)}
	if got, err := ParseJournalHead(good.String()); err != nil || got != good {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "12", "12:", ":" + good.Hash, "0:" + good.Hash, "x:" + good.Hash, "12:" + good.Hash + "0", "12:zz"} {
		if _, err := ParseJournalHead(text); !errors.Is(err, &Error{Code: BadRequest}) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
