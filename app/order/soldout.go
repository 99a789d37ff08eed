package order

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

const (
	// suspicionLife is how long a sale is still read after its last rejected buy.
	suspicionLife = 30 * time.Second
)

const (
	// renewEvery is the interval between reads of the suspected sales. Under load a reply waits longer for the CPU than
	// for Redis. Overlapping reads keep a flag up as long as this delay is below 150 ms.
	renewEvery = shop.FlagLife / 4
)

const (
	maxReads = int(shop.FlagLife / renewEvery)
)

// SoldOutFlags rejects buys with "sold out" without Redis, for users who never had a reservation in the sale. All other
// buys continue to the Lua step, which looks up the key first (I9).
//
//	nothing ── Suspect: a buy found an empty stock ──→ suspected ── Run reads: stock is 0, and the buyers ─→ up
//	   ↑                                                  ↑   │                                              │ Run reads again
//	   └──────────── no rejection for 30 s ───────────────┼───┘                                              │ and again
//	                                                      └── units are back, or no read succeeds in 200 ms ─┘
//
// The buyers of a sale are read once and kept. After returned units are sold again, only the new buyers are read.
type SoldOutFlags struct {
	stock    Stock
	rejected atomic.Int64
	wake     chan struct{} // wakes Run when a sale becomes suspected

	mu    sync.RWMutex
	flags map[shop.ID]*soldOutFlag // by sale
}

// NewSoldOutFlags returns flags that Run raises and confirms.
func NewSoldOutFlags(stock Stock) *SoldOutFlags {
	return &SoldOutFlags{stock: stock, wake: make(chan struct{}, 1), flags: make(map[shop.ID]*soldOutFlag)}
}

// Run reads the counters of suspected sales, at once and then at the interval renewEvery, until ctx ends.
func (s *SoldOutFlags) Run(ctx context.Context) error {
	var reads sync.WaitGroup
	defer reads.Wait()
	slots := make(chan struct{}, maxReads)
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
			ticker.Reset(renewEvery)
		case <-ticker.C:
		}
		suspects := s.suspects()
		if len(suspects) == 0 {
			ticker.Stop() // until the next suspicion
			continue
		}
		select {
		case slots <- struct{}{}:
			reads.Go(func() {
				defer func() { <-slots }()
				s.readCounters(ctx, suspects)
			})
		default: // maxReads reads are already running
		}
	}
}

// readCounters reads the counters of the sales once. If that fails, their flags expire and buys continue to Redis.
func (s *SoldOutFlags) readCounters(ctx context.Context, sales []shop.SaleRef) {
	began := time.Now() // before the read: the lifetime of a flag starts here
	counters, err := s.stock.Counters(ctx, sales)
	if err != nil {
		slog.DebugContext(ctx, "read counters of sold-out sales", "err", err)
	}
	if err != nil && shop.UnreachableIn(err) == nil {
		return
	}
	for _, c := range shop.RepliedCounters(sales, counters, shop.UnreachableIn(err)) {
		s.confirm(ctx, began, c)
	}
}

// Rejects reports whether the sale is certainly sold out and the user certainly never had a reservation in it.
func (s *SoldOutFlags) Rejects(sale, user shop.ID) bool {
	s.mu.RLock()
	f := s.flags[sale]
	if f == nil { // the usual case, without the clock, because reading it costs more than the lookup
		s.mu.RUnlock()
		return false
	}
	now := time.Now()
	rejected := f.rejects(user, now)
	stale := rejected && now.Sub(f.lastRejection) > suspicionLife/4
	s.mu.RUnlock()
	if stale {
		s.noteRejection(sale, now)
	}
	if rejected {
		s.rejected.Add(1)
	}
	return rejected
}

// Rejected returns the number of buys rejected without Redis since the start.
func (s *SoldOutFlags) Rejected() int64 { return s.rejected.Load() }

func (s *SoldOutFlags) noteRejection(sale shop.ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flags[sale]; f != nil {
		f.lastRejection = now
	}
}

// Suspect starts the reads of a sale that had no units left.
func (s *SoldOutFlags) Suspect(sale shop.SaleRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flags[sale.ID]
	if f == nil {
		f = &soldOutFlag{sale: sale}
		s.flags[sale.ID] = f
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	f.lastRejection = time.Now()
}

// suspects lists the sales to read and removes those without a rejected buy for suspicionLife.
func (s *SoldOutFlags) suspects() []shop.SaleRef {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]shop.SaleRef, 0, len(s.flags))
	for id, f := range s.flags {
		if now.Sub(f.lastRejection) > suspicionLife {
			delete(s.flags, id)
			continue
		}
		refs = append(refs, f.sale)
	}
	return refs
}

// confirm processes the counters of a read that started at the time `began`. If a sale is sold out and its list of
// buyers is incomplete, it reads the buyers: the first time all buyers, then only later buyers.
func (s *SoldOutFlags) confirm(ctx context.Context, began time.Time, c shop.Counters) {
	s.mu.Lock()
	f := s.flags[c.Sale]
	load := f != nil && f.confirm(began, c) && !f.loading
	var since shop.BuyersMark
	if load {
		f.loading, since = true, f.mark
	}
	s.mu.Unlock()
	if load {
		s.raise(ctx, f, since)
	}
}

func (s *SoldOutFlags) raise(ctx context.Context, f *soldOutFlag, since shop.BuyersMark) {
	began := time.Now()
	buyers, err := s.stock.Buyers(ctx, f.sale, since)
	users := make(map[shop.ID]struct{}, len(buyers.Users)) // built before the lock, because buys wait for the lock
	for _, user := range buyers.Users {
		users[user] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.loading = false
	if err != nil {
		slog.DebugContext(ctx, "read the buyers of a sold-out sale", "sale", f.sale.ID, "err", err)
		return // the flag stays down and buys continue to Redis
	}
	f.addBuyers(began, since, buyers, users)
}

// soldOutFlag is the state of one sold-out sale on this node. If the flag is up, it rejects buys. The buyers are kept
// while the flag is down: after returned units are sold again, only later buyers are read.
type soldOutFlag struct {
	sale          shop.SaleRef
	lastRejection time.Time // time of the last rejected buy; it may be up to suspicionLife/4 too early
	read          time.Time // start of the newest read that has returned
	until         time.Time // the flag is up until this time; zero: the flag is down
	loading       bool      // buyers are being read
	mark          shop.BuyersMark
	buyers        map[shop.ID]struct{} // all buyers up to `mark`
}

// confirm processes the counters of a read that started at the time `began`: it renews the flag or takes it down. It
// reports whether the sale is sold out and its buyers must be read before the flag may go up.
func (f *soldOutFlag) confirm(began time.Time, c shop.Counters) (unknown bool) {
	if began.Before(f.read) {
		return false // a newer read returned first
	}
	f.read, f.until = began, time.Time{}
	switch {
	case !c.Loaded, c.Epoch != f.mark.Epoch, c.Tickets < f.mark.Tickets:
		f.mark, f.buyers = shop.BuyersMark{}, nil // the history changed
	case c.Stock == 0 && c.Tickets == f.mark.Tickets:
		f.until = began.Add(shop.FlagLife)
	}
	return c.Loaded && c.Stock == 0 && f.until.IsZero()
}

// addBuyers adds the buyers after the mark `since`, from a read that started at the time `began`. It raises the flag if
// the stock is empty.
func (f *soldOutFlag) addBuyers(began time.Time, since shop.BuyersMark, b shop.Buyers, users map[shop.ID]struct{}) {
	switch {
	case b.All:
		f.buyers = users
	case f.mark == since:
		maps.Copy(f.buyers, users)
	default:
		return // these buyers do not follow the current mark
	}
	f.mark = b.Mark
	if began.After(f.read) {
		f.read = began
	}
	if b.Loaded && b.Stock == 0 {
		f.until = began.Add(shop.FlagLife)
	}
}

// rejects reports whether the flag is valid and the user is not among the buyers.
func (f *soldOutFlag) rejects(user shop.ID, now time.Time) bool {
	_, bought := f.buyers[user]
	return !bought && now.Before(f.until)
}
