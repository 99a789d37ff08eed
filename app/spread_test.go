package app

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// P4: where a buyer is at home is in the rows of orders, so it never changes.
func TestHomesNeverChange(t *testing.T) {
	t.Parallel()
	want := map[int][]int{2: {1, 0, 0, 0, 0, 1, 0}, 3: {1, 1, 2, 2, 1, 2, 0}, 8: {5, 2, 0, 4, 0, 7, 2}}
	users := []ID{1, 2, 3, 7301444300000000007, 7301444300000004096, 7301444300000008192, 7301444300000012288}
	for portions, homes := range want {
		for i, user := range users {
			if got := homeOf(user, portions); got != homes[i] {
				t.Errorf("user %s of %d portions is at home in %d, want %d", user, portions, got, homes[i])
			}
		}
	}
	counts := make([]int, 4)
	for n := range ID(4000) {
		counts[homeOf(7301444300000000000+n<<12, 4)]++ // as snowflakes are: the low bits are 0
	}
	if slices.Min(counts) < 900 {
		t.Errorf("of 4000 users in 4 portions: %d", counts)
	}
}

// portions answers counters of portions, and what their moves are, one after the other.
type portions struct {
	Inventory
	MoveStore
	MoveKeeper

	stocks []map[ID]int64 // of each look
	moves  []Move         // of each look
	looks  int
	asked  int
}

func (p *portions) Counters(_ context.Context, refs []SaleRef) ([]Counters, error) {
	stock := p.stocks[min(p.looks, len(p.stocks)-1)]
	p.looks++
	counters := make([]Counters, len(refs))
	for i, ref := range refs {
		counters[i] = Counters{Sale: ref.ID, Loaded: true, Stock: stock[ref.ID]}
	}
	return counters, nil
}

func (p *portions) Buyers(_ context.Context, sale SaleRef, _ BuyersMark) (Buyers, error) {
	return Buyers{Counters: Counters{Sale: sale.ID, Loaded: true}, All: true}, nil
}

func (p *portions) Move(context.Context, ID) (Move, error) {
	m := p.moves[min(p.asked, len(p.moves)-1)]
	p.asked++
	return m, nil
}

func (p *portions) EndMove(context.Context, Move) error       { return nil }
func (p *portions) Epoch(int) int64                           { return 1 }
func (p *portions) MoveIn(context.Context, Move, int64) error { return nil }

func spreadSale() *Sale {
	a, b := SaleRef{ID: 1}, SaleRef{ID: 2, Partition: 1}
	return &Sale{ID: 1, PortionOf: 1, Portions: []Portion{{SaleRef: a}, {SaleRef: b}}}
}

// A unit that moves while the portions are read one after the other may be seen in none of them: then nobody hears that
// the sale is sold out, neither who asks nor, by a flag, anybody else.
func TestSoldOutIsSaidOnlyWhileNothingMoves(t *testing.T) {
	t.Parallel()
	none, here := map[ID]int64{}, map[ID]int64{1: 1}
	done := func(no int64) Move { return Move{Sale: 1, No: no, State: MoveDone} }
	under := Move{Sale: 1, No: 2, State: MoveTaken, Taken: 1}
	for name, c := range map[string]struct {
		stocks []map[ID]int64
		moves  []Move
		empty  bool
	}{
		"nothing anywhere":          {[]map[ID]int64{none}, []Move{done(1)}, true},
		"a move came and went":      {[]map[ID]int64{none, here}, []Move{done(1), done(2)}, false},
		"a move is under way":       {[]map[ID]int64{none, here}, []Move{under, under, under, done(2)}, false},
		"a move began while it was": {[]map[ID]int64{none, here}, []Move{done(1), under, done(2)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sale := spreadSale()
				p := &portions{stocks: c.stocks, moves: c.moves}
				g := &Gatherer{Mover: &Mover{Store: p, Redis: p, Clock: NewClock()}, Inventory: p}
				if empty, err := g.Gather(t.Context(), sale, sale.Refs()[0], 1); err != nil || empty != c.empty {
					t.Errorf("empty %v, %v; want %v", empty, err, c.empty)
				}
				g.Close()

				p = &portions{stocks: c.stocks, moves: c.moves}
				flags := NewSoldOutFlags(p)
				flags.Moves = p
				flags.SuspectSale(sale)
				flags.look(t.Context(), flags.suspects())
				if away := flags.TurnsAway(1, 99); away != c.empty {
					t.Errorf("a stranger is turned away: %v, want %v", away, c.empty)
				}
			})
		})
	}
}

// An empty portion turns nobody away while another one has units.
func TestSoldOutFlagSpeaksOfAllPortions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sale := spreadSale()
		p := &portions{stocks: []map[ID]int64{{2: 1}, {}}, moves: []Move{{Sale: 1, State: MoveDone}}}
		flags := NewSoldOutFlags(p)
		flags.Moves = p
		flags.SuspectSale(sale)
		for _, want := range []bool{false, true} {
			flags.look(t.Context(), flags.suspects())
			if away := flags.TurnsAway(1, 99); away != want {
				t.Errorf("a stranger is turned away: %v, want %v", away, want)
			}
		}
		time.Sleep(FlagLife)
		if flags.TurnsAway(1, 99) || flags.TurnsAway(2, 99) {
			t.Error("the flags outlive their life")
		}
	})
}

// The numbers that people see are sums, in which a unit on its way between two portions is free.
func TestSumOfPortions(t *testing.T) {
	t.Parallel()
	sale := spreadSale()
	sale.Portions[0].Initial, sale.Portions[1].Initial = 12, 8
	parts := []Counters{
		{Sale: 1, Loaded: true, Initial: 10, Stock: 4, Held: 5, Sold: 1, Tickets: 6, Done: 5, Version: 3, Watching: 7},
		{Sale: 2, Loaded: true, Initial: 7, Added: 2, Stock: 6, Held: 2, Withdrawn: 1, Tickets: 2, Done: 2, Version: 2},
	}
	want := Counters{
		Sale: 1, Loaded: true, Initial: 20, Added: 2, Stock: 13, Held: 7, Sold: 1, Withdrawn: 1, Tickets: 8, Done: 7,
		Dones: "5,2", Version: 2, Watching: 7,
	}
	if got := sale.sum(parts); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	v := ViewOf(sale, want, 0)
	if v.Initial+v.Added != v.Stock+v.Held+v.Sold+1 || !slices.Equal(v.Dones, []int64{5, 2}) {
		t.Errorf("shown: %+v", v)
	}
	parts[1].Loaded = false
	if got := sale.sum(parts); got.Loaded {
		t.Errorf("one portion is not there: %+v", got)
	}
}

// What is dealt is all there is, evenly.
func TestDeal(t *testing.T) {
	t.Parallel()
	for units, want := range map[int64][]int64{0: {0, 0, 0}, 2: {1, 1, 0}, 31: {11, 10, 10}} {
		if got := Deal(units, 3); !slices.Equal(got, want) {
			t.Errorf("%d units: %d, want %d", units, got, want)
		}
	}
}
