package server

import (
	"context"

	"stampede/app"
)

// SetChallenge says what a sale asks of its buyers from now on. app.ErrNoRow: there is no such sale.
func (t *Tools) SetChallenge(ctx context.Context, sale app.ID, c app.Challenge) error {
	return t.stores.db.SetChallenge(ctx, sale, c)
}

// WorkBits says how hard proofs of work are from now on, unless bits is 0, and answers how hard they are.
func (t *Tools) WorkBits(ctx context.Context, bits int) (int, error) {
	if bits != 0 {
		return bits, t.stores.db.SetWorkBits(ctx, bits)
	}
	bits, err := t.stores.db.WorkBits(ctx)
	if bits == 0 && err == nil {
		bits = app.DefaultWorkBits
	}
	return bits, err
}
