package app

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// spreadFlag is what all portions of a spread sale have in common: that none of them had a unit, and that none was on
// its way between two. Each portion has a flag of its own besides, which knows who has bought there; it turns nobody
// away without this one.
type spreadFlag struct {
	sale  ID
	refs  []SaleRef
	until time.Time // it counts until then; zero while it is down
}

// SuspectSale has a sale looked after that had no units left, in none of its portions if it is spread.
func (s *SoldOutFlags) SuspectSale(sale *Sale) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !sale.Spread() {
		s.suspect(sale.Ref())
		return
	}
	all := s.spread[sale.ID]
	if all == nil {
		all = &spreadFlag{sale: sale.ID, refs: sale.Refs()}
		s.spread[sale.ID] = all
	}
	for _, ref := range all.refs {
		s.suspect(ref).spread = all
	}
}

// suspectedSpread lists the spread sales to which any of the suspects belongs, and forgets the others.
func (s *SoldOutFlags) suspectedSpread(suspects []SaleRef) []*spreadFlag {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spread) == 0 {
		return nil
	}
	var some []*spreadFlag
	for id, all := range s.spread {
		wanted := slices.ContainsFunc(suspects, func(ref SaleRef) bool { return slices.Contains(all.refs, ref) })
		if wanted {
			some = append(some, all)
		} else {
			delete(s.spread, id)
		}
	}
	return some
}

// withPortions adds the portions that nobody asks for now: they count all the same.
func withPortions(suspects []SaleRef, spread []*spreadFlag) []SaleRef {
	for _, all := range spread {
		for _, ref := range all.refs {
			if !slices.Contains(suspects, ref) {
				suspects = append(suspects, ref)
			}
		}
	}
	return suspects
}

// moves reads the moves of the sales; one that cannot be read is left out.
func (s *SoldOutFlags) moves(ctx context.Context, spread []*spreadFlag) map[ID]Move {
	if len(spread) == 0 || s.Moves == nil {
		return nil
	}
	found := make(map[ID]Move, len(spread))
	for _, all := range spread {
		m, err := s.Moves.Move(ctx, all.sale)
		if err != nil {
			slog.DebugContext(ctx, "read the moves of a sold-out sale", "sale", all.sale, "err", err)
			continue
		}
		found[all.sale] = m
	}
	return found
}

// confirmSpread keeps the flags up of those sales of which no portion had a unit and no move was under way from before
// the read until after it, and takes the others down.
func (s *SoldOutFlags) confirmSpread(
	began time.Time, spread []*spreadFlag, before, after map[ID]Move, counters []Counters,
) {
	if len(spread) == 0 {
		return
	}
	empty := make(map[ID]bool, len(counters))
	for _, c := range counters {
		empty[c.Sale] = c.Loaded && c.Stock == 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range spread {
		all.until = time.Time{}
		gone := !slices.ContainsFunc(all.refs, func(ref SaleRef) bool { return !empty[ref.ID] })
		if gone && still(before, after, all.sale) {
			all.until = began.Add(FlagLife)
		}
	}
}

// still reports whether no move of the sale was under way between two looks.
func still(before, after map[ID]Move, sale ID) bool {
	a, known := before[sale]
	b, knownStill := after[sale]
	return known && knownStill && a.settledLike(b)
}

// settledLike reports whether both are the same move, which is over.
func (m Move) settledLike(other Move) bool {
	return m.State == MoveDone && other.State == MoveDone && m.No == other.No
}
