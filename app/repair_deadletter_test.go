package app

import (
	"context"
	"fmt"
	"testing"
)

// lettersOf is a box with a letter of each sale.
type lettersOf struct {
	DeadLetterBox
	sales []ID
}

func (b lettersOf) DeadLetters(context.Context) (letters []DeadLetter, err error) {
	for _, id := range b.sales {
		letters = append(letters, DeadLetter{ID: "0-" + id.String(), Order: 9, Sale: id})
	}
	return letters, nil
}

func (b lettersOf) DeadLetter(_ context.Context, id string) (DeadLetter, error) {
	for _, sale := range b.sales {
		if id == "0-"+sale.String() {
			return DeadLetter{ID: id, Order: 9, Sale: sale}, nil
		}
	}
	return DeadLetter{}, ErrNoRow
}

// someSales are sales 7 and 8, the second a further portion of the first, and no other; or none that can be read.
type someSales struct {
	SaleStore
	away  bool
	asked int
}

func (s *someSales) Sale(_ context.Context, id ID) (Sale, error) {
	s.asked++
	switch {
	case s.away:
		return Sale{}, fmt.Errorf("%w: no database", ErrTransient)
	case id == 7 || id == 8:
		return Sale{ID: id, PortionOf: 7}, nil
	}
	return Sale{}, ErrNoRow
}

// Whoever lists dead letters reads the sale that people know, also where the entry named a portion of it. While the
// database is away, or where the sale is gone, the letters are there as they are.
func TestDeadLettersNameTheSale(t *testing.T) {
	t.Parallel()
	type names struct{ sale, portion ID }
	for _, away := range []bool{false, true} {
		sales := &someSales{away: away}
		desk := DeadLetters{Box: lettersOf{sales: []ID{7, 8, 8, 9}}, Sales: sales}
		want := []names{{7, 0}, {7, 8}, {7, 8}, {9, 0}}
		if away {
			want = []names{{7, 0}, {8, 0}, {8, 0}, {9, 0}}
		}
		letters, err := desk.List(t.Context())
		if err != nil || len(letters) != len(want) {
			t.Fatalf("away %v: %+v, %v", away, letters, err)
		}
		for i, l := range letters {
			if got := (names{l.Sale, l.Portion}); got != want[i] {
				t.Errorf("away %v: letter %s is of %+v, want %+v", away, l.ID, got, want[i])
			}
		}
		if sales.asked > 3 {
			t.Errorf("the sales were read %d times, want each once", sales.asked)
		}
		letter, err := desk.Letter(t.Context(), "0-8")
		if got := (names{letter.Sale, letter.Portion}); err != nil || got != want[1] {
			t.Errorf("away %v: by itself it is of %+v, %v", away, got, err)
		}
	}
}
