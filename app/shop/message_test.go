package shop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stampede/app/trace"
)

func changesOf(m Message) (changes []Change, err error) {
	for c, err := range m.Changes() {
		if err != nil {
			return changes, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// appendAgain appends a change that was read.
func appendAgain(b []byte, c *Change) []byte {
	o := Order{ID: c.Order, Sale: c.Sale, User: c.User, Rev: c.Rev, State: c.State}
	if c.Trace != nil {
		return AppendTraced(b, &o, []byte(c.Frame), *c.Trace)
	}
	return AppendChange(b, &o, []byte(c.Frame))
}

// Appended changes are read back unchanged and in order.
func TestAppendedChangesAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.Int64Range(0, 1<<60).Draw(t, "before")
		change := rapid.Custom(func(t *rapid.T) Change {
			id := func(name string) ID { return ID(rapid.Int64Range(1, 1<<62).Draw(t, name)) }
			oneLine := rapid.String().Filter(func(s string) bool { return s != "" && !strings.Contains(s, "\n") })
			return Change{
				User: id("user"), Order: id("order"), Sale: id("sale"), Rev: rapid.IntRange(1, 1<<30).Draw(t, "rev"),
				State: rapid.SampledFrom([]OrderState{Pending, Paid, Refused}).Draw(t, "state"),
				Frame: oneLine.Draw(t, "frame"),
			}
		})
		want := rapid.SliceOfN(change, 0, 20).Draw(t, "changes")
		text := fmt.Appendf(nil, "%d %d\n", before, before+1)
		for _, c := range want {
			text = appendAgain(text, &c)
		}
		m, err := ParseMessage(string(text))
		if err != nil || m.Before != before || m.Number != before+1 {
			t.Fatalf("ParseMessage(%q) = number %d after %d, error %v", text, m.Number, m.Before, err)
		}
		if got, err := changesOf(m); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got changes %+v (%v), want %+v", got, err, want)
		}
	})
}

func TestUnreadableMessagesAreErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "1 2", "1\n", "1 3\n", "2 1\n", "-1 0\n", "x 1\n", "0 x\n", "9223372036854775807 9223372036854775808\n",
	} {
		if _, err := ParseMessage(text); !errors.Is(err, ErrPermanent) {
			t.Errorf("message %q: got %v, want ErrPermanent", text, err)
		}
	}
	// Changes before an unreadable line are still delivered.
	for _, line := range []string{
		"7 1 2 1 paid {}", "7\n", "7 \n", " {}\n", "7 {}\n", "0 1 2 1 paid {}\n", "+7 1 2 1 paid {}\n", "7 1 2 0 paid {}\n",
		"7 1 2 01 paid {}\n", "7 1 2 1  {}\n", "7 1 2 1 paid \n", "7 x 2 1 paid {}\n", "7 1 0 1 paid {}\n", "\n",
	} {
		m, err := ParseMessage("1 2\n5 1 2 1 paid {}\n" + line)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := changesOf(m); !errors.Is(err, ErrPermanent) || len(got) != 1 || got[0].User != 5 {
			t.Errorf("line %q: got changes %v, %v; want the change of user 5 and ErrPermanent", line, got, err)
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		"", "0 1\n", "0 1\n7 1 2 1 paid {}\n", "0 1\n7 1 2 1 paid {}",
		"41 42\n7 1 2 1 pending {\"ev\":\"order\"}\n8 3 2 4 paid {}\n", "1 2\n\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMessage(text)
		if err != nil {
			return
		}
		changes, err := changesOf(m)
		if err != nil {
			return
		}
		var lines []byte
		for _, c := range changes {
			lines = appendAgain(lines, &c)
		}
		if _, after, _ := strings.Cut(text, "\n"); after != string(lines) {
			t.Fatalf("changes of %q encoded again: got %q, want the same lines", text, lines)
		}
	})
}

// Reading a few users' changes among many allocates nothing.
func TestReadingChangesAllocatesNothing(t *testing.T) {
	text := []byte("0 1\n")
	for user := range 500 {
		o := Order{ID: 5, Sale: 6, User: ID(7301444300000000000 + user), Rev: 1, State: Pending}
		text = AppendChange(text, &o, []byte(`{"ev":"order"}`))
	}
	message, n := string(text), 0
	allocs := testing.AllocsPerRun(10, func() {
		m, _ := ParseMessage(message)
		for c, err := range m.Changes() {
			if err == nil && c.User != 0 {
				n++
			}
		}
	})
	if allocs > 0 || n == 0 {
		t.Errorf("%v allocations for %d changes, want none", allocs, n)
	}
}

// Only the receiving node sees the trace of a change: the frame equals that of an untraced buy, and adjacent changes
// are unaffected.
func TestChangesCarryTraces(t *testing.T) {
	t.Parallel()
	ref := (&trace.Tracer{Ratio: 1}).Sample("socket", time.Time{}).SpanRef
	frame := `{"ev":"order","key":"k","order":{"id":"5"}}`
	text := []byte("7 8\n")
	order := func(user ID) *Order { return &Order{ID: 5, Sale: 6, User: user, Rev: 1, State: Pending} }
	text = AppendChange(text, order(1), []byte(frame))
	text = AppendTraced(text, order(2), []byte(frame), ref)
	text = AppendChange(text, order(3), []byte(frame))
	if !strings.Contains(string(text), "2 5 6 1 pending "+strings.TrimSuffix(frame, "}")+`,"trace":"`+ref.String()+`"}`+"\n") {
		t.Errorf("want the trace inside the JSON object of the frame: %s", text)
	}
	m, err := ParseMessage(string(text))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := changesOf(m)
	if err != nil || len(changes) != 3 {
		t.Fatalf("got changes %v (%v), want 3", changes, err)
	}
	for i, c := range changes {
		if c.User != ID(i+1) || c.Frame != frame {
			t.Errorf("change %d: got %+v, want user %d and the frame %s", i, c, i+1, frame)
		}
		if traced := c.Trace != nil; traced != (i == 1) || traced && *c.Trace != ref {
			t.Errorf("change of user %s has the unexpected trace %v", c.User, c.Trace)
		}
	}
	// A suffix that only resembles a trace stays in the frame.
	for _, invalid := range []string{`{"a":"b"}`, `{"a":1,"trace":"` + strings.Repeat("x", trace.SpanRefLength) + `"}`} {
		if plain, trace := untracedFrame(invalid); plain != invalid || trace != nil {
			t.Errorf("%s: got frame %s and trace %v, want the same frame and no trace", invalid, plain, trace)
		}
	}
}
