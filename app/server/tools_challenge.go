package server

import (
	"context"

	"stampede/app"
)

// SetChallenge says what a sale asks of its buyers from now on. app.ErrNoRow: there is no such sale.
func (t *Tools) SetChallenge(ctx context.Context, sale app.ID, c app.Challenge) error {
	_, err := t.act(ctx, func(ctx context.Context) (app.Act, error) {
		before, err := t.stores.db.Sale(ctx, sale)
		if err != nil {
			return app.Act{}, err
		}
		return app.Act{
			Kind: "sale.challenge", Object: "sale:" + sale.String(),
			Before: map[string]any{"challenge": before.Challenge}, After: map[string]any{"challenge": c},
		}, t.stores.db.SetChallenge(ctx, sale, c)
	})
	return err
}

// WorkBits says how hard proofs of work are from now on, unless bits is 0, and answers how hard they are.
func (t *Tools) WorkBits(ctx context.Context, bits int) (int, error) {
	if bits != 0 {
		return bits, t.setWorkBits(ctx, bits)
	}
	bits, err := t.stores.db.WorkBits(ctx)
	if bits == 0 && err == nil {
		bits = app.DefaultWorkBits
	}
	return bits, err
}

func (t *Tools) setWorkBits(ctx context.Context, bits int) error {
	_, err := t.act(ctx, func(ctx context.Context) (app.Act, error) {
		before, err := t.stores.db.WorkBits(ctx)
		if err != nil {
			return app.Act{}, err
		}
		return app.Act{
			Kind: "switch.work_bits", Object: "switches",
			Before: map[string]any{"work_bits": before}, After: map[string]any{"work_bits": bits},
		}, t.stores.db.SetWorkBits(ctx, bits)
	})
	return err
}
