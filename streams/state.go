package streams

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// State reads the state of the partition from Redis. Exists is false if the stream of an open partition is absent,
// because confirmed reservations are lost.
func (r Recovery) State(ctx context.Context, partition int) (shop.PartitionState, error) {
	k, err := r.keys(partition)
	if err != nil {
		return shop.PartitionState{}, err
	}
	// Read the recorded seq first. The reply must include every buy up to this seq; later buys may be absent.
	epoch, seq, changes := r.parts[partition].accepted.highest()
	reply, err := stateScript.run(ctx, r.client, []string{k.meta, k.orders})
	if err != nil {
		return shop.PartitionState{}, fmt.Errorf("read the state of partition %d: %w", partition, err)
	}
	state, stream := text(reply[0]), integer(reply[7])
	s := shop.PartitionState{
		Exists:     state == stateClosed || (state == stateOpen && stream == 1),
		Recovering: state == stateClosed, Lost: text(reply[12]) == "1", ClosedAt: shop.Millis(number(text(reply[13]))),
		Claim: number(text(reply[14])),
		Epoch: number(text(reply[1])), Seq: number(text(reply[2])),
		Confirmed: text(reply[4]), History: text(reply[5]), Followed: text(reply[6]),
	}
	s.Changes, s.Shop = number(text(reply[17])), text(reply[18])
	s.Database = shop.RecordedHistory{
		Server: text(reply[8]), Generation: number(text(reply[9])), Beat: number(text(reply[10])),
		Replaced:    strings.Fields(text(reply[11])),
		ClaimServer: text(reply[15]), ClaimGeneration: number(text(reply[16])),
	}
	if state == stateOpen {
		if began, ok := strings.CutPrefix(text(reply[3]), strconv.FormatInt(s.Epoch, 10)+":"); ok {
			r.beginEpoch(ctx, partition, s.Epoch, number(began))
		}
	}
	if epoch == s.Epoch {
		s.Seen, s.SeenChanges = seq, changes
	}
	return s, nil
}

// beginEpoch switches to an epoch that began after the given seq. It logs and counts the lost reservations of the
// previous epoch.
func (r Recovery) beginEpoch(ctx context.Context, partition int, epoch, at int64) {
	lost := r.parts[partition].accepted.begin(epoch, at)
	if lost == 0 {
		return
	}
	r.metrics.lostReservations.Add(float64(lost))
	slog.ErrorContext(ctx, "Redis lost accepted reservations that had no row",
		"partition", partition, "at_least", lost, "epoch", epoch)
}

// Missing checks the given orders, and the last order of each sale that this node has seen accepted in the epoch. It
// returns the orders that Redis does not have. An accepted order stays in its buyer's record while its sale exists.
// Orders of absent sales are skipped. If no order is missing, Missing records the newest entry of the stream as seen.
func (r Recovery) Missing(
	ctx context.Context, partition int, epoch int64, rows []shop.LastOrder,
) ([]shop.LastOrder, error) {
	k, err := r.keys(partition)
	if err != nil {
		return nil, err
	}
	recorded := &r.parts[partition].accepted
	all := append(recorded.lastOrders(epoch, partition), rows...)
	keys, args := make([]string, 1, 1+2*len(all)), make([]any, 0, 2*len(all))
	keys[0] = k.orders
	for _, o := range all {
		keys = append(keys, k.sale(o.Sale.ID), k.buyers(o.Sale.ID))
		args = append(args, o.User.String(), o.Order.String())
	}
	reply, err := missingScript.run(ctx, r.client, keys, args...)
	if err != nil {
		return nil, fmt.Errorf("look for %d orders of partition %d: %w", len(all), partition, err)
	}
	if code := integer(reply[0]); code != codeDone {
		return nil, fmt.Errorf("look for %d orders: %w", len(all), r.rejection(partition, code))
	}
	var missing []shop.LastOrder
	for i, o := range all {
		switch integer(reply[3+i]) {
		case lastOrderMissing:
			missing = append(missing, o)
		case lastOrderNoSale:
			recorded.drop(o.Sale.ID)
		}
	}
	if newest := text(reply[1]); len(missing) == 0 && newest != "" {
		e := parseEntry(partition, redis.XMessage{ID: newest, Values: fieldsOf(list(reply[2]))})
		if e.ParseErr == nil && e.Epoch == epoch {
			recorded.add(epoch, e.Sale, reservationRef{seq: e.Seq, user: e.User, order: e.Order})
		}
	}
	return missing, nil
}

// Results of missing.lua per order.
const (
	lastOrderMissing = 1
	lastOrderNoSale  = 2
)

// fieldsOf returns the fields of an entry from a script's reply.
func fieldsOf(pairs []any) map[string]any {
	fields := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		fields[text(pairs[i])] = pairs[i+1]
	}
	return fields
}

// Confirm opens the partition for sales on the server that State reported. Call it only after Missing has returned no
// order. ErrTransient: the server or the partition has changed since; check again.
func (r Recovery) Confirm(ctx context.Context, partition int, s shop.PartitionState) error {
	_, err := r.run(ctx, confirmScript, partition, metaKey, s.Epoch, s.Confirmed, s.History)
	return err
}
