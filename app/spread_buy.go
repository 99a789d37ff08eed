package app

import (
	"context"
	"time"
)

// gatherThenReserve goes on with a buy that met too few units in its own portion of a spread sale. It is sent again, as
// it was, whenever units may have come; who asks first gets them, so that may happen several times. Sold out is said
// only when all portions were seen without units (see Gatherer); in doubt the answer is busy, which is safe to repeat.
func (t *Checkout) gatherThenReserve(ctx context.Context, sale *Sale, buy Buy, then func(Receipt, error)) {
	t.gatherUntil(ctx, sale, buy, time.Now().Add(gatherWithin), then)
}

func (t *Checkout) gatherUntil(
	ctx context.Context, sale *Sale, buy Buy, until time.Time, then func(Receipt, error),
) {
	empty := false
	_, err := contained(func() (r Receipt, err error) {
		within, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		empty, err = t.Gather.Gather(within, sale, buy.Sale, int64(buy.Qty))
		return r, unknown(buy, err)
	})
	switch {
	case err != nil:
		t.refuse(then, sale.ID, LayerRedis, err)
	case empty:
		t.SoldOut.SuspectSale(sale)
		t.refuse(then, sale.ID, LayerRedis, errSoldOut)
	case time.Now().After(until):
		t.refuse(then, sale.ID, LayerRedis, unknown(buy, errScattered))
	default:
		t.reserve(ctx, sale, buy, then, func(d GateAnswer) {
			if d.Verdict == VerdictSoldOut && !d.Unasked {
				t.asking.Go(func() { t.gatherUntil(ctx, sale, buy, until, then) })
				return
			}
			t.answer(ctx, sale, buy, d, then)
		})
	}
}
