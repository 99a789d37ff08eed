package streams

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// buyers returns the buyers since the mark, sorted, without duplicates.
func (f *fixture) buyers(s *shop.Sale, since shop.BuyersMark) shop.Buyers {
	f.t.Helper()
	b, err := f.stock().Buyers(f.ctx, s.Ref(), since)
	f.must(err)
	slices.Sort(b.Users)
	b.Users = slices.Compact(b.Users)
	return b
}

func (f *fixture) wantBuyers(b shop.Buyers, all bool, want ...shop.ID) {
	f.t.Helper()
	if diff := cmp.Diff(want, b.Users); diff != "" || b.All != all {
		f.t.Fatalf("I9: all %v, want %v; buyers (-want +got):\n%s", b.All, all, diff)
	}
}

// I9: with a mark only later buyers are read, even if other sales of the partition sell in between. The counters are of
// the same instant.
func TestMarkSelectsLaterBuyers(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s, other, g := f.openSale(10), f.openSale(9), f.gate(f.inventory)
		f.wantVerdict(g, buyOf(s, 12, 2, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
		b := f.buyers(s, shop.BuyersMark{})
		f.wantBuyers(b, true, 11, 12)
		if b.Tickets != 2 || b.Stock != 7 || b.Mark.Tickets != 2 || b.Mark.Epoch != testEpoch {
			t.Fatalf("got %+v, want 2 tickets and stock 7 in this epoch", b)
		}
		b = f.buyers(s, b.Mark)
		f.wantBuyers(b, false)

		f.wantVerdict(g, buyOf(other, 50, 1, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(s, 13, 1, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(other, 51, 1, "key-one-1"), shop.VerdictReserved)
		f.wantVerdict(g, buyOf(s, 11, 1, "key-two-1"), shop.VerdictReserved)
		b = f.buyers(s, b.Mark)
		f.wantBuyers(b, false, 11, 13)
		if b.Tickets != 4 || b.Stock != 5 {
			t.Fatalf("got %+v, want tickets 4 and stock 5", b.Counters)
		}
		f.wantBuyers(f.buyers(other, shop.BuyersMark{}), true, 50, 51)
		f.reserveMany(other, 7)
		f.wantBuyers(f.buyers(s, b.Mark), false)
	})
}

// I9: if the stream is incomplete since the mark, all buyers are read.
func TestIncompleteStreamReadsAllBuyers(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *fixture, stream string, s *shop.Sale){
		"trimmed stream": func(f *fixture, stream string, _ *shop.Sale) {
			f.must(f.client.XTrimMaxLen(f.ctx, stream, 1).Err())
		},
		"empty stream": func(f *fixture, stream string, _ *shop.Sale) {
			f.must(f.client.XTrimMaxLen(f.ctx, stream, 0).Err())
		},
		"entry deleted by hand": func(f *fixture, stream string, _ *shop.Sale) {
			entries, err := f.client.XRange(f.ctx, stream, "-", "+").Result()
			f.must(err)
			f.must(f.client.XDel(f.ctx, stream, entries[2].ID).Err())
		},
		"another epoch": func(f *fixture, _ string, _ *shop.Sale) {
			f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.meta, "epoch", testEpoch+1).Err())
		},
		"lost tickets": func(f *fixture, _ string, s *shop.Sale) {
			f.must(f.client.HSet(f.ctx, f.inventory.parts[1].keys.sale(s.ID), "tickets", 1).Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, f *fixture) {
				s, g := f.openSale(10), f.gate(f.inventory)
				f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
				f.wantVerdict(g, buyOf(s, 12, 1, "key-one-1"), shop.VerdictReserved)
				mark := f.buyers(s, shop.BuyersMark{}).Mark
				f.wantVerdict(g, buyOf(s, 13, 1, "key-one-1"), shop.VerdictReserved)
				f.wantVerdict(g, buyOf(s, 14, 1, "key-one-1"), shop.VerdictReserved)
				lose(f, f.inventory.parts[1].keys.orders, s)
				f.wantBuyers(f.buyers(s, mark), true, 11, 12, 13, 14)
			})
		})
	}
}

// I9: the buyers of a closed partition cannot be listed, because a recovery may be restoring them.
func TestClosedPartitionListsNoBuyers(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 3)
		mark := f.buyers(s, shop.BuyersMark{}).Mark
		f.close(testEpoch+1, true)
		for _, since := range []shop.BuyersMark{{}, mark} {
			if b, err := f.stock().Buyers(f.ctx, s.Ref(), since); err == nil {
				t.Fatalf("got %+v from a closed partition, want an error", b)
			}
		}
		gone, err := f.stock().Buyers(f.ctx, shop.SaleRef{ID: newID()}, shop.BuyersMark{})
		f.must(err)
		if gone.Loaded || gone.Mark != (shop.BuyersMark{}) {
			t.Fatalf("got %+v of an absent sale", gone)
		}
	})
}

// commandLog counts the commands that a client sends.
type commandLog struct {
	mu       sync.Mutex
	commands []string
}

func (c *commandLog) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commandLog) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.add(cmd)
		return next(ctx, cmd)
	}
}

func (c *commandLog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.add(cmds...)
		return next(ctx, cmds)
	}
}

func (c *commandLog) add(cmds ...redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range cmds {
		c.commands = append(c.commands, cmd.Name())
	}
}

func (c *commandLog) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	commands := strings.Join(c.commands, " ")
	c.commands = nil
	return commands
}

// The cost of a wave of returned units does not depend on the number of buyers: each buyer is read once.
func TestWaveReadsEachBuyerOnce(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	counted := &commandLog{}
	f.client.AddHook(counted)
	s := f.openSale(3000)
	f.reserveMany(s, 2500)
	mark := f.buyers(s, shop.BuyersMark{}).Mark
	for wave := range 3 {
		g := f.gate(f.inventory)
		for i := range 4 {
			f.wantVerdict(g, buyOf(s, shop.ID(90_000+10*wave+i), 1, "key-wave1"), shop.VerdictReserved)
		}
		counted.take()
		b := f.buyers(s, mark)
		if commands := counted.take(); commands != "evalsha xrange" || b.All || len(b.Users) != 4 {
			t.Fatalf("wave %d: got commands %q, %d buyers and all %v, want evalsha xrange, 4 and false", wave, commands, len(b.Users), b.All)
		}
		mark = b.Mark
	}
}

// I9: during concurrent buys, every buyer with a ticket in the counters of a read is in that read or in an earlier one.
func TestBuyersAreCompleteDuringBuys(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	const crowd, each = 8, 150
	s, other := f.openSale(crowd*each), f.openSale(crowd*each)
	g := f.gate(f.inventory)
	var buying sync.WaitGroup
	for c := range crowd {
		buying.Go(func() {
			for i := range each {
				user := shop.ID(1 + c*each + i)
				for _, sale := range []*shop.Sale{s, other} {
					if d, err := reserveUntilKnown(f.ctx, g, buyOf(sale, user, 1, "key-one-1")); err != nil ||
						d.Verdict != shop.VerdictReserved {
						t.Errorf("user %s: got %+v, %v, want a reservation", user, d, err)
					}
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buying.Wait()
	}()
	known, mark, whole := make(map[shop.ID]bool), shop.BuyersMark{}, 0
	for last := false; !last; {
		select {
		case <-ended:
			last = true
		default:
		}
		b, err := f.stock().Buyers(f.ctx, s.Ref(), mark)
		f.must(err)
		if b.All {
			whole++
		}
		for _, user := range b.Users {
			known[user] = true
		}
		mark = b.Mark
		if int64(len(known)) < b.Tickets || int64(len(known)) < mark.Tickets {
			t.Fatalf("I9: got %d buyers, want %d, mark %+v", len(known), b.Tickets, mark)
		}
	}
	if len(known) != crowd*each || whole != 1 {
		t.Fatalf("got %d of %d buyers; all buyers were read %d times", len(known), crowd*each, whole)
	}
}

// TestBuyersAreReadAcrossPages has more entries in between than a page, and more than maxRecentEntries.
func TestBuyersAreReadAcrossPages(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s, other, g := f.openSale(10), f.openSale(30_000), f.gate(f.inventory)
	f.wantVerdict(g, buyOf(s, 11, 1, "key-one-1"), shop.VerdictReserved)
	mark := f.buyers(s, shop.BuyersMark{}).Mark
	f.reserveMany(other, buyersPage+buyersPage/2)
	f.wantVerdict(g, buyOf(s, 12, 1, "key-one-1"), shop.VerdictReserved)
	b := f.buyers(s, mark)
	f.wantBuyers(b, false, 12)

	stream := f.inventory.parts[1].keys.orders
	_, err := f.client.Pipelined(f.ctx, func(p redis.Pipeliner) error {
		for range maxRecentEntries {
			p.XAdd(f.ctx, &redis.XAddArgs{Stream: stream, Values: []any{"terms", "of another sale"}})
		}
		return nil
	})
	f.must(err)
	f.wantVerdict(g, buyOf(s, 13, 1, "key-one-1"), shop.VerdictReserved)
	b = f.buyers(s, b.Mark)
	f.wantBuyers(b, true, 11, 12, 13)
	f.wantBuyers(f.buyers(s, b.Mark), false)
	if b.Mark.Tickets != 3 {
		t.Fatalf("got the mark %+v, want 3 tickets", b.Mark)
	}
}
