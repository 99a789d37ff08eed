package order

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stampede/app/shop"
)

// buyersInventory implements only Buyers and Counters.
type buyersInventory struct {
	Stock
	users     []shop.ID
	c         shop.Counters
	reads     int           // reads of buyers
	fullReads int           // reads of all buyers, not only of later buyers
	delay     time.Duration // delay of a read of the counters
	returned  atomic.Int64  // returned units
}

func (i *buyersInventory) Counters(context.Context, []shop.SaleRef) ([]shop.Counters, error) {
	now := i.c
	now.Stock = i.returned.Load()
	time.Sleep(i.delay)
	return []shop.Counters{now}, nil
}

// Buyers returns the buyers after the mark. Each of `users` has one ticket, in this order; earlier tickets belong to
// unlisted buyers.
func (i *buyersInventory) Buyers(_ context.Context, _ shop.SaleRef, since shop.BuyersMark) (shop.Buyers, error) {
	i.reads++
	b := shop.Buyers{
		Counters: i.c, Users: i.users, Mark: shop.BuyersMark{Epoch: i.c.Epoch, Tickets: i.c.Tickets, Entry: "1-1"},
	}
	if b.All = since == (shop.BuyersMark{}) || since.Epoch != i.c.Epoch; b.All {
		i.fullReads++
	} else {
		b.Users = i.users[int64(len(i.users))-(i.c.Tickets-since.Tickets):]
	}
	return b, nil
}

// I9: a flag rejects only users who never had a reservation in the sale. It reads the buyers once and expires without
// confirmation.
func TestSoldOutFlagAdmitsBuyersAndExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sale, buyer, nonBuyer = shop.ID(1), shop.ID(10), shop.ID(11)
		inventory := &buyersInventory{users: []shop.ID{buyer}, c: shop.Counters{Sale: sale, Loaded: true, Tickets: 5}}
		flags := NewSoldOutFlags(inventory)
		ctx := context.Background()

		if flags.Rejects(sale, nonBuyer) {
			t.Fatal("a user was rejected before a flag was set")
		}
		flags.confirm(ctx, time.Now(), inventory.c)
		if flags.Rejects(sale, nonBuyer) || inventory.reads != 0 {
			t.Fatal("a sale without a sold-out reply must not be flagged")
		}
		flags.Suspect(shop.SaleRef{ID: sale})
		flags.confirm(ctx, time.Now(), inventory.c)
		if !flags.Rejects(sale, nonBuyer) {
			t.Fatal("the sale is sold out, but a user without an order was not rejected")
		}
		if flags.Rejects(sale, buyer) {
			t.Fatal("a buyer was rejected, want the buy to continue to the Lua step")
		}
		flags.confirm(ctx, time.Now(), inventory.c)
		if inventory.reads != 1 {
			t.Fatalf("got %d reads of the buyers, want one", inventory.reads)
		}
		time.Sleep(shop.FlagLife + time.Millisecond) // by the fake clock of synctest
		if flags.Rejects(sale, nonBuyer) {
			t.Fatal("the flag is still set after FlagLife without confirmation")
		}
	})
}

// I9: units are returned and sold again to new buyers, several times. All buyers are read once, then only later buyers.
func TestSoldOutFlagReadsOnlyLaterBuyers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inventory := &buyersInventory{
			users: []shop.ID{10}, c: shop.Counters{Sale: 1, Loaded: true, Tickets: 5, Epoch: 7},
		}
		flags := NewSoldOutFlags(inventory)
		ctx := context.Background()
		flags.Suspect(shop.SaleRef{ID: 1})
		flags.confirm(ctx, time.Now(), inventory.c)

		for wave := shop.ID(11); wave < 31; wave++ {
			time.Sleep(time.Millisecond)
			afterReturn := inventory.c
			afterReturn.Stock = 1
			flags.confirm(ctx, time.Now(), afterReturn)
			if flags.Rejects(1, 99) {
				t.Fatal("a unit is free, but a user was rejected")
			}
			inventory.users, inventory.c.Tickets = append(inventory.users, wave), inventory.c.Tickets+1
			flags.confirm(ctx, time.Now(), inventory.c)
			for _, buyer := range inventory.users {
				if flags.Rejects(1, buyer) {
					t.Fatalf("buyer %s was rejected by the flag of wave %d", buyer, wave-10)
				}
			}
			if !flags.Rejects(1, 99) {
				t.Fatal("the sale is sold out, but a user without an order was not rejected")
			}
		}
		if inventory.fullReads != 1 || inventory.reads != 21 {
			t.Errorf("got %d full reads of %d reads, want 1 of 21", inventory.fullReads, inventory.reads)
		}
	})
}

// I9: after a recovery, or after Redis has lost tickets, the same ticket number may belong to other buyers.
func TestSoldOutFlagDropsBuyersAfterARecovery(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *shop.Counters){
		"partition recovered": func(c *shop.Counters) { c.Epoch++ },
		"ticket lost":         func(c *shop.Counters) { c.Tickets-- },
		"sale retired":        func(c *shop.Counters) { *c = shop.Counters{Sale: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, before := t.Context(), shop.Counters{Sale: 1, Loaded: true, Tickets: 5, Epoch: 7}
				inventory := &buyersInventory{users: []shop.ID{10}, c: before}
				flags := NewSoldOutFlags(inventory)
				flags.Suspect(shop.SaleRef{ID: 1})
				flags.confirm(ctx, time.Now(), before)

				between := before
				between.Stock = 1
				change(&between)
				flags.confirm(ctx, time.Now(), between)
				after := before // the same number of tickets as before
				after.Epoch = max(between.Epoch, before.Epoch)
				inventory.users, inventory.c = []shop.ID{11}, after
				flags.confirm(ctx, time.Now(), after)
				if flags.Rejects(1, 11) || !flags.Rejects(1, 12) || inventory.fullReads != 2 {
					t.Errorf("want a flag that accepts only the buyer of the new history, and 2 full reads; got %d full reads",
						inventory.fullReads)
				}
			})
		})
	}
}

func TestSuspectedSalesExpireWithoutBuys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		flags := NewSoldOutFlags(&buyersInventory{})
		flags.Suspect(shop.SaleRef{ID: 1})
		if len(flags.suspects()) != 1 {
			t.Fatal("the sale is not suspected after Suspect")
		}
		time.Sleep(suspicionLife + time.Second)
		if len(flags.suspects()) != 0 {
			t.Fatal("the sale is still suspected after suspicionLife without a buy")
		}
	})
}

// I11: a flag stays up although each read takes longer than half of FlagLife. It goes down after the first read that
// finds a free unit.
func TestSoldOutFlagStaysSetDuringSlowReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sale, nonBuyer = shop.ID(1), shop.ID(11)
		inventory := &buyersInventory{
			c: shop.Counters{Sale: sale, Loaded: true, Tickets: 5}, delay: 7 * shop.FlagLife / 10,
		}
		flags := NewSoldOutFlags(inventory)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- flags.Run(ctx) }()

		flags.Suspect(shop.SaleRef{ID: sale})
		time.Sleep(inventory.delay)
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			if !flags.Rejects(sale, nonBuyer) {
				t.Fatal("the flag ended although the counters are unchanged")
			}
		}
		inventory.returned.Store(1)
		time.Sleep(inventory.delay + renewEvery + time.Millisecond)
		if flags.Rejects(sale, nonBuyer) {
			t.Fatal("a unit is free, but a user was rejected")
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

// I9: the result of an older read that returns later is ignored.
func TestSoldOutFlagIgnoresOlderReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, soldOut := t.Context(), shop.Counters{Sale: 1, Loaded: true, Tickets: 5}
		flags := NewSoldOutFlags(&buyersInventory{c: soldOut})
		flags.Suspect(shop.SaleRef{ID: 1})
		flags.confirm(ctx, time.Now(), soldOut)

		olderRead := time.Now()
		time.Sleep(time.Millisecond)
		flags.confirm(ctx, time.Now(), shop.Counters{Sale: 1, Loaded: true, Tickets: 5, Stock: 1})
		flags.confirm(ctx, olderRead, soldOut)
		if flags.Rejects(1, 11) {
			t.Fatal("a unit is free, but a user was rejected")
		}
	})
}
