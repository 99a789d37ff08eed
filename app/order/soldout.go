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
	// suspectLife is how long a sale is asked about after the last buyer was turned away from it.
	suspectLife = 30 * time.Second
)

const (
	// renewEvery is how often the suspects are read. Under load a reply waits for the processor longer than for Redis;
	// overlapping reads keep a flag up as long as that is less than 150 ms.
	renewEvery = shop.FlagLife / 4
)

const (
	readsAtOnce = int(shop.FlagLife / renewEvery)
)

// SoldOutFlags lets this node answer "sold out" without Redis, to people who never had a reservation in the sale.
// Everyone else always goes on to the Lua step, which looks the key up first (I9).
//
//	nothing ── Suspect: somebody met an empty stock ─→ suspected ── Run reads: stock 0, these have bought ─→ up
//	   ↑                                                  ↑   │                                              │ Run reads again
//	   └──────────── nobody asked for 30 s ───────────────┼───┘                                              │ and again
//	                                                      └── units are back, or nothing was read in 200 ms ─┘
//
// Who has bought is read once and kept; when units come back and go again, only who got them is read.
type SoldOutFlags struct {
	inventory Redis
	turned    atomic.Int64
	first     chan struct{} // something is suspected that was not

	mu    sync.RWMutex
	flags map[shop.ID]*soldOutFlag // by sale
}

// NewSoldOutFlags makes flags that Run raises and keeps up.
func NewSoldOutFlags(inventory Redis) *SoldOutFlags {
	return &SoldOutFlags{inventory: inventory, first: make(chan struct{}, 1), flags: make(map[shop.ID]*soldOutFlag)}
}

// Run reads the counters of what is suspected, at once and then again and again, until ctx ends.
func (s *SoldOutFlags) Run(ctx context.Context) error {
	var reads sync.WaitGroup
	defer reads.Wait()
	free := make(chan struct{}, readsAtOnce)
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.first:
			ticker.Reset(renewEvery)
		case <-ticker.C:
		}
		suspects := s.suspects()
		if len(suspects) == 0 {
			ticker.Stop() // until something is suspected again
			continue
		}
		select {
		case free <- struct{}{}:
			reads.Go(func() {
				defer func() { <-free }()
				s.look(ctx, suspects)
			})
		default: // as many as make sense are under way
		}
	}
}

// look reads the counters of the sales once. Where that fails flags end by themselves, and buys go on to Redis.
func (s *SoldOutFlags) look(ctx context.Context, sales []shop.SaleRef) {
	began := time.Now() // before the read: a flag's life counts from here
	counters, err := s.inventory.Counters(ctx, sales)
	if err != nil {
		slog.DebugContext(ctx, "read counters of sold-out sales", "err", err)
	}
	if err != nil && shop.AwayOf(err) == nil {
		return
	}
	for _, c := range shop.Answered(sales, counters, shop.AwayOf(err)) {
		s.confirm(ctx, began, c)
	}
}

// TurnsAway reports whether the sale is surely sold out and the user surely never had anything in it.
func (s *SoldOutFlags) TurnsAway(sale, user shop.ID) bool {
	s.mu.RLock()
	f := s.flags[sale]
	if f == nil { // as nearly always: the clock costs more than all the rest
		s.mu.RUnlock()
		return false
	}
	now := time.Now()
	away := f.turnsAway(user, now)
	stale := away && now.Sub(f.wanted) > suspectLife/4
	s.mu.RUnlock()
	if stale {
		s.touch(sale, now)
	}
	if away {
		s.turned.Add(1)
	}
	return away
}

// Turned counts the buys that were turned away without Redis since the start.
func (s *SoldOutFlags) Turned() int64 { return s.turned.Load() }

func (s *SoldOutFlags) touch(sale shop.ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flags[sale]; f != nil {
		f.wanted = now
	}
}

// Suspect has a sale looked after that had no units left.
func (s *SoldOutFlags) Suspect(sale shop.SaleRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flags[sale.ID]
	if f == nil {
		f = &soldOutFlag{sale: sale}
		s.flags[sale.ID] = f
		select {
		case s.first <- struct{}{}:
		default:
		}
	}
	f.wanted = time.Now()
}

// suspects lists the sales that must be read, and forgets those nobody asks for any more.
func (s *SoldOutFlags) suspects() []shop.SaleRef {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]shop.SaleRef, 0, len(s.flags))
	for id, f := range s.flags {
		if now.Sub(f.wanted) > suspectLife {
			delete(s.flags, id)
			continue
		}
		refs = append(refs, f.sale)
	}
	return refs
}

// confirm takes counters of a read that began at the instant given. If a sale is sold out and not all of its buyers are
// known, they are read: everyone the first time, then only later ones.
func (s *SoldOutFlags) confirm(ctx context.Context, began time.Time, c shop.Counters) {
	s.mu.Lock()
	f := s.flags[c.Sale]
	raise := f != nil && f.confirm(began, c) && !f.raising
	var since shop.BuyersMark
	if raise {
		f.raising, since = true, f.known
	}
	s.mu.Unlock()
	if raise {
		s.raise(ctx, f, since)
	}
}

func (s *SoldOutFlags) raise(ctx context.Context, f *soldOutFlag, since shop.BuyersMark) {
	began := time.Now()
	buyers, err := s.inventory.Buyers(ctx, f.sale, since)
	users := make(map[shop.ID]struct{}, len(buyers.Users)) // made before the lock: buys wait for it
	for _, user := range buyers.Users {
		users[user] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.raising = false
	if err != nil {
		slog.DebugContext(ctx, "read the buyers of a sold-out sale", "sale", f.sale.ID, "err", err)
		return // the flag stays down and buys go on to Redis
	}
	f.learn(began, since, buyers, users)
}

// soldOutFlag is what a node knows of one sale that sold out. The buyers are kept while the flag is down: when the
// units that came back are gone again, only later ones are read.
type soldOutFlag struct {
	sale    shop.SaleRef
	wanted  time.Time // the last time that a buyer was turned away
	read    time.Time // when the newest read began that has answered
	until   time.Time // the flag counts until then; zero while it is down
	raising bool      // buyers are being read
	known   shop.BuyersMark
	buyers  map[shop.ID]struct{} // everyone up to the mark
}

// confirm takes counters of a read that began at the instant given: it keeps the flag up or takes it down. It reports
// whether the sale is sold out and its buyers have to be read before the flag may go up.
func (f *soldOutFlag) confirm(began time.Time, c shop.Counters) (unknown bool) {
	if began.Before(f.read) {
		return false // a later read was faster
	}
	f.read, f.until = began, time.Time{}
	switch {
	case !c.Loaded, c.Epoch != f.known.Epoch, c.Tickets < f.known.Tickets:
		f.known, f.buyers = shop.BuyersMark{}, nil // another history
	case c.Stock == 0 && c.Tickets == f.known.Tickets:
		f.until = began.Add(shop.FlagLife)
	}
	return c.Loaded && c.Stock == 0 && f.until.IsZero()
}

// learn takes buyers that were read from the instant given on, since the mark, and raises the flag if nothing is left.
func (f *soldOutFlag) learn(began time.Time, since shop.BuyersMark, b shop.Buyers, users map[shop.ID]struct{}) {
	switch {
	case b.All:
		f.buyers = users
	case f.known == since:
		maps.Copy(f.buyers, users)
	default:
		return // they follow others than those who are known now
	}
	f.known = b.Mark
	if began.After(f.read) {
		f.read = began
	}
	if b.Loaded && b.Stock == 0 {
		f.until = began.Add(shop.FlagLife)
	}
}

// turnsAway reports whether the flag counts and does not know the user.
func (f *soldOutFlag) turnsAway(user shop.ID, now time.Time) bool {
	_, bought := f.buyers[user]
	return !bought && now.Before(f.until)
}
