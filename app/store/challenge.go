package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/admission"
	"stampede/app/shop"
)

// settingWorkBits is how difficult a proof of work is.
const settingWorkBits = "work_bits"

// SetChallenge sets the entry check of a sale; every node knows it within a second. ErrNoRow: there is no such sale.
func (s *Store) SetChallenge(ctx context.Context, sale shop.ID, c shop.Challenge) error {
	return s.edit(ctx, "set the entry check of a sale", func(tx bun.Conn) error {
		// The version makes the row differ, so that the count of rows tells whether there is one.
		return orNoRow(exec(ctx, tx, "UPDATE sales SET challenge = ?, version = version + 1 WHERE id = ?", c, sale))
	})
}

// WorkBits is how difficult a proof of work is; 0: nobody has said so.
func (s *Store) WorkBits(ctx context.Context) (int, error) {
	bits, err := counted(ctx, s.db, settingWorkBits)
	return int(bits), wrap("read how difficult proofs of work are", err)
}

// SetWorkBits says how difficult proofs of work are from now on. Those that were set before stay as they are.
func (s *Store) SetWorkBits(ctx context.Context, bits int) error {
	if bits < admission.LeastWorkBits || bits > admission.MostWorkBits {
		return shop.Fail(shop.BadRequest,
			fmt.Sprintf("a proof of work has from %d to %d bits", admission.LeastWorkBits, admission.MostWorkBits))
	}
	return s.inTx(ctx, "set how difficult proofs of work are", func(tx bun.Conn) error {
		return s.putSetting(ctx, tx, settingWorkBits, bits)
	})
}
