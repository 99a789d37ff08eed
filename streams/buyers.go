package streams

import (
	"cmp"
	"context"
	"fmt"

	"stampede/app/shop"
)

const (
	// buyersPage is the number of entries or buyers that one call reads: about a millisecond of Redis.
	buyersPage = 1000
	// maxRecentEntries is the maximum number of entries that are searched for entries of one sale. Reading all buyers
	// costs less than a longer search.
	maxRecentEntries = 20 * buyersPage
)

// Buyers lists the users with a reservation of the sale that was accepted since the mark. The cost grows with the
// number of entries that the partition has accepted since the mark. With the zero mark, and if the stream is
// incomplete, it lists all buyers. Each acceptance issues the next ticket and one stream entry in one step, so the list
// is complete if it has the entry of every ticket. If an entry is missing (trimmed, of another epoch, beyond
// maxRecentEntries), all buyers are read in pages.
func (s Stock) Buyers(ctx context.Context, sale shop.SaleRef, since shop.BuyersMark) (shop.Buyers, error) {
	k, err := s.keys(sale.Partition)
	if err != nil {
		return shop.Buyers{}, err
	}
	if since != (shop.BuyersMark{}) {
		recent, complete, err := s.recentBuyers(ctx, k, sale, since)
		if err != nil {
			return shop.Buyers{}, wrapped(err, "read the buyers of sale %s since ticket %d", sale.ID, since.Tickets)
		}
		if complete {
			return recent, nil
		}
	}
	all, err := s.allBuyers(ctx, k, sale)
	return all, wrapped(err, "read the buyers of sale %s", sale.ID)
}

// recentBuyers reads the stream after the mark. complete is true if no buyer is missing.
func (s Stock) recentBuyers(
	ctx context.Context, k *partitionKeys, sale shop.SaleRef, since shop.BuyersMark,
) (b shop.Buyers, complete bool, err error) {
	numbers, err := s.readNumbers(ctx, k, sale)
	if err != nil {
		return shop.Buyers{}, false, err
	}
	b.Counters = numbers.Counters
	if !numbers.open || !b.Loaded || b.Epoch != since.Epoch || b.Tickets < since.Tickets {
		return shop.Buyers{}, false, nil
	}
	b.Mark = since
	for scanned := 0; ; {
		// the page is read after the counters, so the stream has the entries of all counted tickets
		page, err := s.client.XRangeN(ctx, k.orders, "("+b.Mark.Entry, "+", buyersPage).Result()
		if err != nil {
			return shop.Buyers{}, false, transient(err)
		}
		for _, m := range page {
			b.Mark.Entry = m.ID
			e := parseEntry(sale.Partition, m)
			if e.ParseErr != nil || e.Sale != sale.ID || e.Epoch != since.Epoch {
				continue
			}
			if e.Ticket > b.Mark.Tickets+1 {
				return shop.Buyers{}, false, nil // tickets are issued one by one: entries are missing
			}
			b.Mark.Tickets = max(b.Mark.Tickets, e.Ticket)
			b.Users = append(b.Users, e.User)
		}
		scanned += len(page)
		complete = b.Mark.Tickets >= b.Tickets
		if complete || len(page) < buyersPage || scanned >= maxRecentEntries {
			return b, complete, nil
		}
	}
}

// allBuyers scans all buyers. They are not removed while the sale exists, so the scan finds all buyers that existed
// when it began. Later buyers have an entry after the mark.
func (s Stock) allBuyers(ctx context.Context, k *partitionKeys, sale shop.SaleRef) (shop.Buyers, error) {
	numbers, err := s.readNumbers(ctx, k, sale)
	if err != nil {
		return shop.Buyers{}, err
	}
	b := shop.Buyers{All: true, Counters: numbers.Counters}
	if !b.Loaded {
		return b, nil
	}
	b.Mark = shop.BuyersMark{Epoch: b.Epoch, Tickets: b.Tickets, Entry: cmp.Or(numbers.newest, "0-0")}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var pairs []string
		if pairs, cursor, err = s.client.HScan(ctx, k.buyers(sale.ID), cursor, "", buyersPage).Result(); err != nil {
			return shop.Buyers{}, transient(err)
		}
		for i := 0; i < len(pairs); i += 2 {
			if user, err := shop.ParseID(pairs[i]); err == nil {
				b.Users = append(b.Users, user)
			}
		}
	}
	// A recovery removes and restores the buyers, so a scan during a recovery is incomplete.
	after, err := s.readNumbers(ctx, k, sale)
	if err != nil {
		return shop.Buyers{}, err
	}
	if !numbers.open || !after.open || after.Epoch != b.Epoch {
		return shop.Buyers{}, fmt.Errorf("%w: the partition is being recovered", shop.ErrTransient)
	}
	return b, nil
}

// saleNumbers are a sale's counters and their validity, at one instant.
type saleNumbers struct {
	shop.Counters

	open   bool   // the partition sells
	newest string // id of the last entry of the stream; "": it is empty
}

func (s Stock) readNumbers(ctx context.Context, k *partitionKeys, sale shop.SaleRef) (n saleNumbers, err error) {
	args := make([]any, len(counterFields))
	for i, field := range counterFields {
		args[i] = field
	}
	reply, err := numbersScript.run(ctx, s.client, []string{k.meta, k.sale(sale.ID), k.orders}, args...)
	if err != nil {
		return n, err
	}
	if code := integer(reply[0]); code != codeDone {
		return n, s.rejection(sale.Partition, code)
	}
	values := reply[4:]
	if text(values[0]) == "" { // no stock: the sale is absent
		values = nil
	}
	n.Counters = counters(sale.ID, values)
	n.Epoch, n.open, n.newest = number(text(reply[1])), text(reply[2]) == stateOpen, text(reply[3])
	return n, nil
}
