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
		recovery.Claim, recovery.Lost, history, h.Server, h.Generation)
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

// Record reads the reservation of an order from its buyer's record, for an operator: user, key, hash, ticket and units.
// It scans all buyers of the sale. ErrNoRow: no record contains the order.
func (r Recovery) Record(ctx context.Context, sale shop.SaleRef, order shop.ID) (shop.Entry, error) {
	k, err := r.keys(sale.Partition)
	if err != nil {
		return shop.Entry{}, err
	}
	hold, err := r.client.HGet(ctx, k.open(sale.ID), order.String()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return shop.Entry{}, fmt.Errorf("read the hold of order %s: %w", order, transient(err))
	}
	open, _ := parseHold(order.String(), hold)
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var pairs []string
		if pairs, cursor, err = r.client.HScan(ctx, k.buyers(sale.ID), cursor, "", buyersPage).Result(); err != nil {
			return shop.Entry{}, fmt.Errorf("read the buyers of sale %s: %w", sale.ID, transient(err))
		}
		for i := 0; i < len(pairs); i += 2 {
			_, after, named := strings.Cut(pairs[i+1], order.String()+":")
			if !named {
				continue
			}
			record, _, _ := strings.Cut(after, ";")
			parts := strings.SplitN(record, ":", 3) // hash:ticket:key
			user, err := shop.ParseID(pairs[i])
			if err != nil || len(parts) != 3 {
				return shop.Entry{}, fmt.Errorf("%w: invalid record of buyer %q in sale %s", shop.ErrPermanent, pairs[i], sale.ID)
			}
			return shop.Entry{
				Order: order, Sale: sale.ID, Partition: sale.Partition, User: user, Hash: parts[0],
				Ticket: number(parts[1]), Key: parts[2], Hold: max(open.Hold, 1), Qty: max(open.Qty, 1),
			}, nil
		}
	}
	return shop.Entry{}, fmt.Errorf("order %s in the records of sale %s: %w", order, sale.ID, shop.ErrNoRow)
}

// SetAside moves an entry that cannot become a row to the dead letters. Its hold is kept. It reports whether this call
// moved it.
func (r Recovery) SetAside(ctx context.Context, claim int64, e *shop.Entry, reason string) (bool, error) {
	keys := func(k *partitionKeys) []string {
		return []string{k.meta, k.orders, k.waiting, k.dead, k.sale(e.Sale)}
	}
	reply, err := r.run(ctx, setAsideScript, e.Partition, keys, claim, e.StreamID, reason)
	return err == nil && integer(reply[1]) == 1, err
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
