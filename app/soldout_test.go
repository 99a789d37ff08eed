package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// buyersLedger answers Buyers and nothing else.
type buyersLedger struct {
	Ledger
	users []ID
	c     Counters
	reads int
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
