package app

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// buyersInventory answers Buyers and Counters, and nothing else.
type buyersInventory struct {
	Inventory
	users []ID
	c     Counters
	reads int           // of all buyers or of some
	whole int           // of all
	takes time.Duration // how long until the counters of a moment are here
	back  atomic.Int64  // units that are free again
}

func (l *buyersInventory) Counters(context.Context, []SaleRef) ([]Counters, error) {
	now := l.c
	now.Stock = l.back.Load()
	time.Sleep(l.takes)
	return []Counters{now}, nil
}

// Buyers takes the tickets for given out in the order of users, one each, after those of people who do not matter here.
func (l *buyersInventory) Buyers(_ context.Context, _ SaleRef, since BuyersMark) (Buyers, error) {
	l.reads++
	b := Buyers{Counters: l.c, Users: l.users, Mark: BuyersMark{Epoch: l.c.Epoch, Tickets: l.c.Tickets, Entry: "1-1"}}
	if b.All = since == (BuyersMark{}) || since.Epoch != l.c.Epoch; b.All {
		l.whole++
	} else {
		b.Users = l.users[int64(len(l.users))-(l.c.Tickets-since.Tickets):]
	}
	return b, nil
}

// I9: a flag turns away only people who never had anything in the sale, reads the buyers once, and ends
// by itself when nobody confirms it.
func TestSoldOutFlagSparesBuyersAndEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sale, buyer, stranger = ID(1), ID(10), ID(11)
		inventory := &buyersInventory{users: []ID{buyer}, c: Counters{Sale: sale, Loaded: true, Tickets: 5}}
		flags := NewSoldOutFlags(inventory)
		ctx := context.Background()

		if flags.TurnsAway(sale, stranger) {
			t.Fatal("no flag yet")
		}
		flags.confirm(ctx, time.Now(), inventory.c)
		if flags.TurnsAway(sale, stranger) || inventory.reads != 0 {
			t.Fatal("a sale that nobody suspects must not be flagged")
		}
		flags.Suspect(SaleRef{ID: sale})
		flags.confirm(ctx, time.Now(), inventory.c)
		if !flags.TurnsAway(sale, stranger) {
			t.Fatal("sold out: a stranger is turned away")
		}
		if flags.TurnsAway(sale, buyer) {
			t.Fatal("a buyer always goes on to the key lookup")
		}
		flags.confirm(ctx, time.Now(), inventory.c)
		if inventory.reads != 1 {
			t.Fatalf("buyers read %d times, want once", inventory.reads)
		}
		time.Sleep(FlagLife + time.Millisecond) // the fake clock of the bubble
		if flags.TurnsAway(sale, stranger) {
			t.Fatal("the flag must end without confirmation")
		}
	})
}

// I9: units come back and are sold to somebody whom the flag does not know, wave after wave. Everyone is read once,
// then only who came since.
func TestSoldOutFlagLearnsWhoCameSince(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inventory := &buyersInventory{users: []ID{10}, c: Counters{Sale: 1, Loaded: true, Tickets: 5, Epoch: 7}}
		flags := NewSoldOutFlags(inventory)
		ctx := context.Background()
		flags.Suspect(SaleRef{ID: 1})
		flags.confirm(ctx, time.Now(), inventory.c)

		for wave := ID(11); wave < 31; wave++ {
			time.Sleep(time.Millisecond)
			back := inventory.c
			back.Stock = 1
			flags.confirm(ctx, time.Now(), back)
			if flags.TurnsAway(1, 99) {
				t.Fatal("a unit is free: nobody is turned away")
			}
			inventory.users, inventory.c.Tickets = append(inventory.users, wave), inventory.c.Tickets+1
			flags.confirm(ctx, time.Now(), inventory.c)
			for _, buyer := range inventory.users {
				if flags.TurnsAway(1, buyer) {
					t.Fatalf("buyer %s must be known to the flag of wave %d", buyer, wave-10)
				}
			}
			if !flags.TurnsAway(1, 99) {
				t.Fatal("sold out: a stranger is turned away")
			}
		}
		if inventory.whole != 1 || inventory.reads != 21 {
			t.Errorf("all buyers were read %d times, of %d reads; want once, of 21", inventory.whole, inventory.reads)
		}
	})
}

// I9: after a recovery, or when Redis has lost tickets, the same number of tickets may belong to other people.
func TestSoldOutFlagForgetsAnotherHistory(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *Counters){
		"rebuilt": func(c *Counters) { c.Epoch++ },
		"lost":    func(c *Counters) { c.Tickets-- },
		"retired": func(c *Counters) { *c = Counters{Sale: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, before := t.Context(), Counters{Sale: 1, Loaded: true, Tickets: 5, Epoch: 7}
				inventory := &buyersInventory{users: []ID{10}, c: before}
				flags := NewSoldOutFlags(inventory)
				flags.Suspect(SaleRef{ID: 1})
				flags.confirm(ctx, time.Now(), before)

				between := before
				between.Stock = 1
				change(&between)
				flags.confirm(ctx, time.Now(), between)
				after := before // again as many tickets as before
				after.Epoch = max(between.Epoch, before.Epoch)
				inventory.users, inventory.c = []ID{11}, after
				flags.confirm(ctx, time.Now(), after)
				if flags.TurnsAway(1, 11) || !flags.TurnsAway(1, 12) || inventory.whole != 2 {
					t.Errorf("who bought in the new history is turned away, or nobody is; %d whole reads",
						inventory.whole)
				}
			})
		})
	}
}

func TestSuspectsAreForgottenWhenNobodyAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		flags := NewSoldOutFlags(&buyersInventory{})
		flags.Suspect(SaleRef{ID: 1})
		if len(flags.suspects()) != 1 {
			t.Fatal("suspected")
		}
		time.Sleep(suspectLife + time.Second)
		if len(flags.suspects()) != 0 {
			t.Fatal("forgotten")
		}
	})
}

// I11: a flag stays up although every answer takes longer than half of a flag's life, and ends with the first that says
// otherwise.
func TestSoldOutFlagStaysUpWhileAnswersAreSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sale, stranger = ID(1), ID(11)
		inventory := &buyersInventory{c: Counters{Sale: sale, Loaded: true, Tickets: 5}, takes: 7 * FlagLife / 10}
		flags := NewSoldOutFlags(inventory)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- flags.Run(ctx) }()

		flags.Suspect(SaleRef{ID: sale})
		time.Sleep(inventory.takes)
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			if !flags.TurnsAway(sale, stranger) {
				t.Fatal("the flag is down, and nothing has changed")
			}
		}
		inventory.back.Store(1)
		time.Sleep(inventory.takes + renewEvery + time.Millisecond)
		if flags.TurnsAway(sale, stranger) {
			t.Fatal("a unit is free: nobody is turned away")
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

// I9: an answer that was overtaken says nothing any more.
func TestSoldOutFlagBelievesTheNewestRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, gone := t.Context(), Counters{Sale: 1, Loaded: true, Tickets: 5}
		flags := NewSoldOutFlags(&buyersInventory{c: gone})
		flags.Suspect(SaleRef{ID: 1})
		flags.confirm(ctx, time.Now(), gone)

		overtaken := time.Now()
		time.Sleep(time.Millisecond)
		flags.confirm(ctx, time.Now(), Counters{Sale: 1, Loaded: true, Tickets: 5, Stock: 1})
		flags.confirm(ctx, overtaken, gone)
		if flags.TurnsAway(1, 11) {
			t.Fatal("a unit is free: nobody is turned away")
		}
	})
}
