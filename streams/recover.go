package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

const (
	remainingPage = 1000 // entries
	restoreChunk  = 500  // buyers or holds per call
	// oldStreamLife is the retention of the old stream of a restored partition, for operators.
	oldStreamLife = time.Hour
)

// Close closes the partition for a recovery. ErrStaleEpoch: another recovery has begun a later epoch, or has a later
// claim. If Redis has lost no writes, history is the history in which Missing returned no order. ErrTransient: the
// server has begun another history since that check.
func (r Recovery) Close(ctx context.Context, partition int, recovery shop.PartitionRecovery, history string) error {
	h := &recovery.Database
	_, err := r.run(ctx, closeScript, partition, metaKey,
		recovery.Claim, recovery.Lost, history, h.Server, h.Generation, recovery.Shop)
	return err
}

// Open ends the recovery. It sets epoch, seq, changes and the database history of the partition. Redis then accepts
// buys under the new epoch.
func (r Recovery) Open(
	ctx context.Context, partition int, recovery shop.PartitionRecovery, seq, changes int64,
) error {
	keys := func(k *partitionKeys) []string {
		return []string{k.meta, k.orders, k.waiting, k.attempts, k.orders + ":before"}
	}
	h := &recovery.Database
	_, err := r.run(ctx, openScript, partition, keys, recovery.Claim, seq, recovery.Lost, oldStreamLife.Milliseconds(),
		h.Server, h.Generation, h.Beat, changes)
	if err != nil {
		return err
	}
	r.beginEpoch(ctx, partition, recovery.Claim, seq)
	return nil
}

// RecordDatabase records the progress of the database, and returns the epoch and the changes of the partition.
// ErrStaleEpoch: the partition has recorded another history of the database.
func (r Recovery) RecordDatabase(
	ctx context.Context, partition int, h shop.DatabaseHistory,
) (epoch, changes int64, err error) {
	epoch = r.Epoch(partition)
	reply, err := r.run(ctx, noteScript, partition, metaKey, epoch, h.Server, h.Generation, h.Beat)
	if err != nil {
		return epoch, 0, err
	}
	return epoch, integer(reply[1]), nil
}

// AcceptServer allows a replaced database server to be used again.
func (r Recovery) AcceptServer(ctx context.Context, partition int, server string) error {
	s, err := r.State(ctx, partition)
	if err != nil {
		return err
	}
	remaining := slices.DeleteFunc(s.Database.Replaced, func(other string) bool { return other == server })
	meta := r.parts[partition].keys.meta
	_, err = r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, meta, "db_replaced", strings.Join(remaining, " "))
		p.HDel(ctx, meta, "claim_server", "claim_generation")
		return nil
	})
	if err != nil {
		return fmt.Errorf("accept database server %s in partition %d: %w", server, partition, transient(err))
	}
	return nil
}

// EachEntry passes all entries that are still in the stream to the function `each`, in pages, oldest first. Settled
// entries are included.
func (r Recovery) EachEntry(ctx context.Context, partition int, each func([]shop.Entry) error) error {
	k, err := r.keys(partition)
	if err != nil {
		return err
	}
	return eachPage(ctx, r.client, k.orders, remainingPage, func(page []redis.XMessage) error {
		entries := make([]shop.Entry, len(page))
		for i, m := range page {
			entries[i] = parseEntry(partition, m)
		}
		return each(entries)
	})
}

// Evidence reads, for each order of one sale, its hold, its deadline, and whether the record of its buyer contains it.
// The results are consistent only while the partition is closed. loaded is false if the sale is not in Redis, or was
// restored in part.
func (r Recovery) Evidence(
	ctx context.Context, sale shop.SaleRef, orders []shop.Order,
) (found []shop.Evidence, loaded bool, err error) {
	k, err := r.keys(sale.Partition)
	if err != nil || len(orders) == 0 {
		return nil, err == nil, err
	}
	fields, users := make([]string, len(orders)), make([]string, len(orders))
	for i, o := range orders {
		fields[i], users[i] = o.ID.String(), o.User.String()
	}
	var armed *redis.StringCmd
	var holds, records *redis.SliceCmd
	var deadlines *redis.FloatSliceCmd
	_, err = r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		armed = p.HGet(ctx, k.sale(sale.ID), "armed")
		holds = p.HMGet(ctx, k.open(sale.ID), fields...)
		records = p.HMGet(ctx, k.buyers(sale.ID), users...)
		deadlines = p.ZMScore(ctx, k.deadlines, fields...)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, false, fmt.Errorf("look for %d orders of sale %s: %w", len(orders), sale.ID, transient(err))
	}
	found = make([]shop.Evidence, len(orders))
	for i, id := range fields {
		e := &found[i]
		e.DueAt = shop.Millis(deadlines.Val()[i])
		e.InRecord = strings.Contains(text(records.Val()[i]), id+":")
		if value, ok := holds.Val()[i].(string); ok {
			hold, err := parseHold(id, value)
			if err != nil {
				return nil, false, err
			}
			e.Hold = &hold
		}
	}
	return found, armed.Val() == "1", nil
}

// Records returns the reservations of holds from the records of their buyers, which it scans once: user, key, hash and
// ticket. Without a record, these are empty.
func (r Recovery) Records(ctx context.Context, sale shop.SaleRef, holds []shop.OpenHold) ([]shop.Entry, error) {
	k, err := r.keys(sale.Partition)
	if err != nil {
		return nil, err
	}
	entries := make([]shop.Entry, len(holds))
	wanted := make(map[string]*shop.Entry, len(holds))
	for i, h := range holds {
		entries[i] = shop.Entry{Order: h.Order, Sale: sale.ID, Partition: sale.Partition, Hold: h.Hold, Qty: h.Qty}
		wanted[h.Order.String()] = &entries[i]
	}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var pairs []string
		if pairs, cursor, err = r.client.HScan(ctx, k.buyers(sale.ID), cursor, "", buyersPage).Result(); err != nil {
			return nil, fmt.Errorf("read the buyers of sale %s: %w", sale.ID, transient(err))
		}
		for i := 0; i < len(pairs); i += 2 {
			if err := readRecords(wanted, pairs[i], pairs[i+1]); err != nil {
				return nil, fmt.Errorf("sale %s: %w", sale.ID, err)
			}
		}
	}
	return entries, nil
}

// readRecords completes the wanted entries that are in the record of a buyer: units|reservations|records|…, where each
// reservation has the record order:hash:ticket:key; (reserve.lua).
func readRecords(wanted map[string]*shop.Entry, user, record string) error {
	fields := strings.SplitN(record, "|", 4)
	if len(fields) < 3 {
		return fmt.Errorf("%w: invalid record of buyer %q", shop.ErrPermanent, user)
	}
	for reservation := range strings.SplitSeq(fields[2], ";") {
		order, rest, _ := strings.Cut(reservation, ":")
		e := wanted[order]
		if e == nil {
			continue
		}
		parts := strings.SplitN(rest, ":", 3) // hash:ticket:key
		buyer, err := shop.ParseID(user)
		if err != nil || len(parts) != 3 {
			return fmt.Errorf("%w: invalid record of buyer %q", shop.ErrPermanent, user)
		}
		e.User, e.Hash, e.Ticket, e.Key = buyer, parts[0], number(parts[1]), parts[2]
	}
	return nil
}

// SetAside removes an entry that cannot become a row from the stream. Its hold is kept.
func (r Recovery) SetAside(ctx context.Context, claim int64, e *shop.Entry) error {
	keys := func(k *partitionKeys) []string { return []string{k.meta, k.orders, k.waiting, k.sale(e.Sale)} }
	_, err := r.run(ctx, setAsideScript, e.Partition, keys, claim, e.StreamID)
	return err
}

// SetStuck sets the reason why a sale must not sell; "" allows the sale to sell.
func (r Recovery) SetStuck(ctx context.Context, claim int64, sale shop.SaleRef, reason string) error {
	_, err := r.run(ctx, setStuckScript, sale.Partition, saleKeys(sale.ID), claim, reason)
	return err
}

// Restore replaces one sale with the given state, in the recovery with this claim.
func (r Recovery) Restore(ctx context.Context, claim int64, s shop.SaleState) error {
	part := func(name string, args []any) error {
		args = append([]any{claim, name}, args...)
		if _, err := r.run(ctx, restoreScript, s.Sale.Partition, saleKeys(s.Sale.ID), args...); err != nil {
			return fmt.Errorf("restore sale %s, part %s: %w", s.Sale.ID, name, err)
		}
		return nil
	}
	if err := part("sale", saleFields(s)); err != nil {
		return err
	}
	buyers, open := saleHashes(s.Sale, s.Orders)
	for name, pairs := range map[string][]any{"buyers": buyers, "open": open} {
		for chunk := range slices.Chunk(pairs, 2*restoreChunk) {
			if err := part(name, chunk); err != nil {
				return err
			}
		}
	}
	return part("arm", []any{returnCooldown.Milliseconds()})
}

// saleHashes builds the pairs of the buyers and open hashes from rows. An order whose units are held or sold gets a
// hold. The units of an order count to the limit if Order.HoldsUnits is true. The rows do not contain the pass that a
// buyer spent last. Therefore every pass that is not newer than the buyer's last reservation counts as spent.
func saleHashes(sale *shop.Sale, orders []shop.Order) (buyers, open []any) {
	type buyer struct {
		units   int
		count   int
		last    shop.Millis // last reservation
		records strings.Builder
	}
	byUser := make(map[shop.ID]*buyer)
	for i := range orders {
		o := &orders[i]
		b := byUser[o.User]
		if b == nil {
			b = &buyer{}
			byUser[o.User] = b
		}
		b.count++
		b.last = max(b.last, o.CreatedAt)
		fmt.Fprintf(&b.records, "%d:%s:%d:%s;", o.ID, o.ContentHash, o.Ticket, o.Key)
		if o.HoldsUnits() {
			b.units += o.Qty
			if o.State != shop.Refunded {
				open = append(open, o.ID.String(), holdValue(o))
			}
		}
	}
	for user, b := range byUser {
		record := fmt.Sprintf("%d|%d|%s", b.units, b.count, &b.records)
		if sale.Challenge.NeedsPass() {
			record += fmt.Sprintf("||%d", b.last)
		}
		buyers = append(buyers, user.String(), record)
	}
	return buyers, open
}

// holdValue returns the value of the order's hold, in the format of the scripts.
func holdValue(o *shop.Order) string {
	value := strconv.FormatInt(o.Hold, 10) + ":" + strconv.Itoa(o.Qty)
	if o.State.Sold() {
		value += soldMark
	}
	return value
}
