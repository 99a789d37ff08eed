package app

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// A sale may be spread over several partitions when it is made, and stays so. Its units are dealt out to portions. A
// portion is a sale of its own to everything that counts units (a row of the table, keys in a partition, tickets,
// holds, a guard), and nobody sees it: ids and numbers that people see are those of the sale, which is its own first
// portion. What moves between portions is in spread_move.go, who asks for it in spread_gather.go and spread_balance.go.
//
// A buyer has a home, one of the portions, by the user id alone: the limit per buyer, the cap and the keys of retries
// are kept there with nobody's help, on every node and at every time (P4). Therefore the portions of a sale never
// change.

// MostPortions is how far a sale can be spread, if there are as many partitions.
const MostPortions = 64

// Portion is a part of a spread sale: where it is, and the units that it has by the database. Units that move leave
// one portion and come to another in one instant there, so the sums over all portions do not know of moves.
type Portion struct {
	SaleRef

	Initial, Added, Withdrawn int64
}

// IsPortion reports whether the row is a further portion of another sale, which people know.
func (s *Sale) IsPortion() bool { return s.PortionOf != 0 && s.PortionOf != s.ID }

// Spread reports whether the sale has several portions.
func (s *Sale) Spread() bool { return len(s.Portions) > 1 }

// Refs are the portions of the sale, or the sale itself.
func (s *Sale) Refs() []SaleRef {
	if !s.Spread() {
		return []SaleRef{s.Ref()}
	}
	refs := make([]SaleRef, len(s.Portions))
	for i := range s.Portions {
		refs[i] = s.Portions[i].SaleRef
	}
	return refs
}

// Home is where the user buys, and the number of that portion.
func (s *Sale) Home(user ID) (SaleRef, int) {
	if !s.Spread() {
		return s.Ref(), 0
	}
	n := homeOf(user, len(s.Portions))
	return s.Portions[n].SaleRef, n
}

// homeOf spreads users evenly: the low bits of ids are mostly 0, so they are mixed (the last step of SplitMix64). It
// must never change: the orders of a buyer are where it has led.
func homeOf(user ID, portions int) int {
	x := uint64(user)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return int(x % uint64(portions))
}

// numberOf is which portion of the sale it is.
func (s *Sale) numberOf(portion ID) int {
	for i := range s.Portions {
		if s.Portions[i].ID == portion {
			return i
		}
	}
	return 0
}

// Whole is the sale with the units of all its portions.
func (s Sale) Whole() Sale {
	if !s.Spread() {
		return s
	}
	s.Initial, s.Added, s.Withdrawn = 0, 0, 0
	for i := range s.Portions {
		p := &s.Portions[i]
		s.Initial, s.Added, s.Withdrawn = s.Initial+p.Initial, s.Added+p.Added, s.Withdrawn+p.Withdrawn
	}
	return s
}

// Deal divides units evenly among portions; what is left over goes to the first ones.
func Deal(units int64, portions int) []int64 {
	shares := make([]int64, portions)
	for i := range shares {
		shares[i] = units / int64(portions)
		if int64(i) < units%int64(portions) {
			shares[i]++
		}
	}
	return shares
}

// away reports whether a partition of the sale did not answer.
func (s *Sale) away(a *PartitionsAway) bool {
	return slices.ContainsFunc(s.Refs(), func(ref SaleRef) bool { return a.Has(ref.Partition) })
}

// countersOf reads the numbers of sales, each summed over its portions, in the order asked for. Beside the error that
// says which partitions are away stand those of the sales that are wholly elsewhere, see Inventory.Counters.
func countersOf(ctx context.Context, inventory Inventory, sales []*Sale) ([]Counters, error) {
	var refs []SaleRef
	for _, s := range sales {
		refs = append(refs, s.Refs()...)
	}
	counters, err := inventory.Counters(ctx, refs)
	if err != nil && AwayOf(err) == nil {
		return nil, err
	}
	sums := make([]Counters, len(sales))
	for i, s := range sales {
		n := max(len(s.Portions), 1)
		sums[i], counters = s.sum(counters[:n]), counters[n:]
	}
	return sums, err
}

// sum adds up the numbers of the portions, which were read one after the other. Units that are on their way between
// two of them count as free: what the database has given out at first, less what Redis knows of it. It is loaded when
// all portions are.
func (s *Sale) sum(parts []Counters) Counters {
	if !s.Spread() {
		return parts[0]
	}
	sum := parts[0]
	whole := s.Whole()
	initial, dones := int64(0), make([]byte, 0, 8*len(parts))
	sum.Stock, sum.Held, sum.Sold, sum.Withdrawn, sum.Added, sum.Tickets, sum.Done = 0, 0, 0, 0, 0, 0, 0
	for i := range parts {
		c := &parts[i]
		sum.Loaded = sum.Loaded && c.Loaded
		sum.Paused = sum.Paused || c.Paused
		sum.Version = min(sum.Version, c.Version)
		initial += c.Initial
		sum.Stock, sum.Held, sum.Sold = sum.Stock+c.Stock, sum.Held+c.Held, sum.Sold+c.Sold
		sum.Withdrawn, sum.Added = sum.Withdrawn+c.Withdrawn, sum.Added+c.Added
		sum.Tickets, sum.Done = sum.Tickets+c.Tickets, sum.Done+c.Done
		if i > 0 {
			dones = append(dones, ',')
		}
		dones = strconv.AppendInt(dones, c.Done, 10)
	}
	if !sum.Loaded {
		return Counters{Sale: s.ID, Watching: sum.Watching}
	}
	sum.Initial, sum.Stock, sum.Dones = whole.Initial, max(0, sum.Stock+whole.Initial-initial), string(dones)
	return sum
}

// donesOf reads Counters.Dones.
func donesOf(text string) (dones []int64) {
	for part := range strings.SplitSeq(text, ",") {
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			dones = append(dones, n)
		}
	}
	return dones
}
