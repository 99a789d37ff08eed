package app

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// FlagLife is how long a sold-out flag counts, from before the read that confirmed it. Units that come back
	// to an empty stock rest longer than this in Redis, so that nobody can have been accepted whom a
	// valid flag does not know (I9).
	FlagLife = 200 * time.Millisecond
	// suspectLife is how long a sale is asked about after the last buyer was turned away from it.
	suspectLife = 30 * time.Second
	// renewEvery is how often the suspects are read. Where everybody presses Buy a reply waits for the processor longer than
	// it takes Redis to give it; reads that overlap keep a flag up all the same, as long as that is less than 150 ms.
	renewEvery  = FlagLife / 4
	readsAtOnce = int(FlagLife / renewEvery)
)

// SoldOutFlags lets this node answer "sold out" without touching Redis, to people who never had a reservation
// in the sale. Everyone else always goes on to the Lua step, which looks the key up first (I9).
//
//	nothing ── Suspect: somebody met an empty stock ─→ suspected ── Run reads: stock 0, these have bought ─→ up
//	   ↑                                                  ↑   │                                              │ Run reads again
//	   └──────────── nobody asked for 30 s ───────────────┼───┘                                              │ and again
//	                                                      └── units are back, or nothing was read in 200 ms ─┘
type SoldOutFlags struct {
	ledger Ledger
	turned atomic.Int64
	first  chan struct{} // something is suspected that was not

	mu    sync.RWMutex
	flags map[ID]*soldOutFlag
}

type soldOutFlag struct {
	sale     SaleRef
	wanted   time.Time // the last time that a buyer was turned away
	read     time.Time // when the newest read began that has answered
	until    time.Time // the flag counts until then; zero while it is only a suspicion
	raising  bool      // the buyers are being read
	tickets  int64     // of the moment when the buyers were read
	complete bool      // buyers were read
	buyers   map[ID]struct{}
}

// NewSoldOutFlags makes flags that Run raises and keeps up.
func NewSoldOutFlags(ledger Ledger) *SoldOutFlags {
	return &SoldOutFlags{ledger: ledger, first: make(chan struct{}, 1), flags: make(map[ID]*soldOutFlag)}
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
func (s *SoldOutFlags) look(ctx context.Context, sales []SaleRef) {
	began := time.Now() // before the read: a flag's life counts from here
	counters, err := s.ledger.Counters(ctx, sales)
	if err != nil {
		slog.DebugContext(ctx, "read counters of sold-out sales", "err", err)
		return
	}
	for _, c := range counters {
		s.confirm(ctx, began, c)
	}
}

// TurnsAway tells whether the sale is surely sold out and the user surely never had anything in it.
func (s *SoldOutFlags) TurnsAway(sale, user ID) bool {
	s.mu.RLock()
	f := s.flags[sale]
	if f == nil { // as nearly always: the clock costs more than all the rest
		s.mu.RUnlock()
		return false
	}
	now := time.Now()
	_, known := f.buyers[user]
	away := !known && now.Before(f.until)
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

func (s *SoldOutFlags) touch(sale ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flags[sale]; f != nil {
		f.wanted = now
	}
}

// Suspect has a sale looked after that had no units left.
func (s *SoldOutFlags) Suspect(sale SaleRef) {
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
func (s *SoldOutFlags) suspects() []SaleRef {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]SaleRef, 0, len(s.flags))
	for id, f := range s.flags {
		if now.Sub(f.wanted) > suspectLife {
			delete(s.flags, id)
			continue
		}
		refs = append(refs, f.sale)
	}
	return refs
}

// confirm takes counters that were read no earlier than at the instant given: it renews, raises or lowers the
// flag of the sale. Raising reads the sale's buyers once, at most as many as it has had tickets.
func (s *SoldOutFlags) confirm(ctx context.Context, read time.Time, c Counters) {
	s.mu.Lock()
	f := s.flags[c.Sale]
	if f == nil || read.Before(f.read) { // a later read was faster
		s.mu.Unlock()
		return
	}
	f.read = read
	gone := c.Loaded && c.Stock == 0
	switch {
	case !gone:
		f.until, f.complete, f.buyers = time.Time{}, false, nil
	case f.complete && f.tickets == c.Tickets:
		f.until = read.Add(FlagLife)
	default:
		f.until, f.complete = time.Time{}, false
	}
	raise := gone && !f.complete && !f.raising
	f.raising = f.raising || raise
	s.mu.Unlock()
	if raise {
		s.raise(ctx, f.sale)
	}
}

func (s *SoldOutFlags) raise(ctx context.Context, sale SaleRef) {
	asked := time.Now()
	users, c, err := s.ledger.Buyers(ctx, sale)
	buyers := make(map[ID]struct{}, len(users))
	for _, u := range users {
		buyers[u] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flags[sale.ID]
	if f == nil {
		return
	}
	f.raising = false
	if err != nil || !c.Loaded || c.Stock != 0 {
		return // the flag stays down and buys go on to Redis
	}
	f.buyers, f.tickets, f.complete, f.until = buyers, c.Tickets, true, asked.Add(FlagLife)
}
