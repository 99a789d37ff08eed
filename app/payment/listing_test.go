package payment

import "testing"

// C4: a mark survives its text. Other texts have no mark.
func TestMarksAreParsedFromTheirText(t *testing.T) {
	t.Parallel()
	want := Mark{Shop: "5f3a09c181be22d0", Sale: 1790000000000000001, User: 1790000000000000002, Qty: 99}
	text := want.String()
	if got := ParseMark(" " + text + "\t"); got != want || len(text) > 80 {
		t.Errorf("got %+v of %q, want %+v and at most 80 characters", got, text, want)
	}
	for _, other := range []string{
		"", "two cups", "stampede", "stampede a 1 2", "stampede a 1 2 0", "stampede a x 2 1", "stampede a 1 2 3 4", "shop a 1 2 3",
	} {
		if got := ParseMark(other); got != (Mark{}) {
			t.Errorf("%q: got %+v, want no mark", other, got)
		}
	}
}
