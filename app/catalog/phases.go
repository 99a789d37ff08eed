package catalog

import (
	"context"
	"log/slog"
	"time"

	"stampede/app/shop"
)

const (
	clockInterval = time.Second            // interval between samples of the Redis clock
	maxPause      = 250 * time.Millisecond // maximum pause between two checks
)

// PhaseWatcher synchronises this node's clock. It announces phase changes of slots and watched sales, and edits of
// watched sales. It reads the node's snapshot (Catalogue.Run), so that a stalled database does not delay an opening.
type PhaseWatcher struct {
	Catalogue  *Catalogue
	Stock      Stock
	Storefront *Storefront
	Audience   Audience
	Clock      *shop.Clock

	slots     map[shop.ID]shop.Slot
	sales     map[shop.ID]announcedSale
	sampledAt time.Time
}

// announcedSale is the last announced state of a watched sale.
type announcedSale struct {
	phase   shop.Phase
	version int64
}

// Run announces changes until ctx ends.
func (w *PhaseWatcher) Run(ctx context.Context) error {
	for {
		if err := w.RunOnce(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "announce phase changes", "err", err)
		}
		if !shop.Sleep(ctx, w.pause()) {
			return ctx.Err()
		}
	}
}

// pause returns the pause until the next check: at most maxPause, and at most until just after the next full second.
func (w *PhaseWatcher) pause() time.Duration {
	ms := time.Duration(int64(w.Clock.Now())%1000) * time.Millisecond
	return min(maxPause, time.Second-ms+time.Millisecond)
}

// RunOnce announces each slot and sale that has changed since the last check.
func (w *PhaseWatcher) RunOnce(ctx context.Context) error {
	if time.Since(w.sampledAt) >= clockInterval {
		w.sampledAt = time.Now()
		if err := w.Clock.Sample(ctx, w.Stock); err != nil {
			slog.WarnContext(ctx, "sample the Redis clock", "err", err)
		}
	}
	return w.announce(ctx)
}

func (w *PhaseWatcher) announce(ctx context.Context) error {
	now := w.Clock.Now()
	slots, err := w.Catalogue.Today(ctx, now)
	if err != nil {
		return err
	}
	first := w.slots == nil
	current := make(map[shop.ID]shop.Slot, len(slots))
	watched := make(map[shop.ID]announcedSale)
	for _, slot := range slots {
		current[slot.ID] = slot
		if before, ok := w.slots[slot.ID]; !first && (!ok || before.Phase != slot.Phase) {
			w.Audience.SlotChanged(slot)
		}
	}
	for id, slot := range w.slots { // a slot that closes at midnight is absent the next day
		if _, ok := current[id]; !ok && slot.Phase == shop.Open && slot.ClosesAt <= now {
			slot.Phase = shop.Ended
			w.Audience.SlotChanged(slot)
		}
	}
	for _, id := range w.Audience.Watched() {
		sale, err := w.Catalogue.Sale(ctx, id)
		if err != nil {
			continue
		}
		watched[id] = announcedSale{shop.PhaseAt(now, sale.OpensAt, sale.ClosesAt), sale.Version}
		if before, ok := w.sales[id]; ok && before != watched[id] {
			w.announceSale(ctx, sale)
		}
	}
	w.slots, w.sales = current, watched
	return nil
}

// announceSale sends the complete present view of a sale.
func (w *PhaseWatcher) announceSale(ctx context.Context, sale *shop.Sale) {
	views, err := w.Storefront.Views(ctx, []*shop.Sale{sale})
	if err != nil {
		slog.WarnContext(ctx, "announce sale", "sale", sale.ID, "err", err)
		return
	}
	w.Audience.SaleChanged(views[0])
}
