package app

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// buyersLedger answers Buyers and Counters, and nothing else.
type buyersLedger struct {
	Ledger
	users []ID
	c     Counters
	reads int
	takes time.Duration // how long until the counters of a moment are here
	back  atomic.Int64  // units that are free again
}

func (l *buyersLedger) Counters(context.Context, []SaleRef) ([]Counters, error) {
	now := l.c
	now.Stock = l.back.Load()
	time.Sleep(l.takes)
	return []Counters{now}, nil
}

func (l *buyersLedger) Buyers(context.Context, SaleRef) ([]ID, Counters, error) {
	l.reads++
	return l.users, l.c, nil
}

// I9: a flag turns away only people who never had anything in the sale, reads the buyers once, and ends
// by itself when nobody confirms it.
func TestSoldOutFlagSparesBuyersAndEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sale, buyer, stranger = ID(1), ID(10), ID(11)
		ledger := &buyersLedger{users: []ID{buyer}, c: Counters{Sale: sale, Loaded: true, Tickets: 5}}
		flags := NewSoldOutFlags(ledger)
		ctx := context.Background()

		if flags.TurnsAway(sale, stranger) {
			t.Fatal("no flag yet")
		}
		flags.confirm(ctx, time.Now(), ledger.c)
		if flags.TurnsAway(sale, stranger) || ledger.reads != 0 {
			t.Fatal("a sale that nobody suspects must not be flagged")
		}
		flags.Suspect(SaleRef{ID: sale})
		flags.confirm(ctx, time.Now(), ledger.c)
		if !flags.TurnsAway(sale, stranger) {
			t.Fatal("sold out: a stranger is turned away")
		}
		if flags.TurnsAway(sale, buyer) {
			t.Fatal("a buyer always goes on to the key lookup")
		}
		flags.confirm(ctx, time.Now(), ledger.c)
		if ledger.reads != 1 {
			t.Fatalf("buyers read %d times, want once", ledger.reads)
		}
		time.Sleep(FlagLife + time.Millisecond) // the fake clock of the bubble
		if flags.TurnsAway(sale, stranger) {
			t.Fatal("the flag must end without confirmation")
		}
	})
}

// I9: a unit came back and was sold to somebody whom the flag does not know.
func TestSoldOutFlagReadsBuyersAgainAfterAnotherTicket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &buyersLedger{users: []ID{10}, c: Counters{Sale: 1, Loaded: true, Tickets: 5}}
		flags := NewSoldOutFlags(ledger)
		ctx := context.Background()
		flags.Suspect(SaleRef{ID: 1})
		flags.confirm(ctx, time.Now(), ledger.c)

		flags.confirm(ctx, time.Now(), Counters{Sale: 1, Loaded: true, Tickets: 5, Stock: 1})
		if flags.TurnsAway(1, 12) {
			t.Fatal("a unit is free: nobody is turned away")
		}
		ledger.users, ledger.c.Tickets = []ID{10, 11}, 6
		flags.confirm(ctx, time.Now(), ledger.c)
		if flags.TurnsAway(1, 11) || !flags.TurnsAway(1, 12) {
			t.Fatal("the new buyer must be known to the new flag")
		}
	})
}

func TestSuspectsAreForgottenWhenNobodyAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		flags := NewSoldOutFlags(&buyersLedger{})
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

// I11: a flag stays up although every answer takes longer than half of a flag's life, and ends with the first that says otherwise.
func TestSoldOutFlagStaysUpWhileAnswersAreSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sale, stranger = ID(1), ID(11)
		ledger := &buyersLedger{c: Counters{Sale: sale, Loaded: true, Tickets: 5}, takes: 7 * FlagLife / 10}
		flags := NewSoldOutFlags(ledger)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- flags.Run(ctx) }()

		flags.Suspect(SaleRef{ID: sale})
		time.Sleep(ledger.takes)
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			if !flags.TurnsAway(sale, stranger) {
				t.Fatal("the flag is down, and nothing has changed")
			}
		}
		ledger.back.Store(1)
		time.Sleep(ledger.takes + renewEvery + time.Millisecond)
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
		flags := NewSoldOutFlags(&buyersLedger{c: gone})
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
