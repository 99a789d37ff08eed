package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/uptrace/bun"

	"stampede/app"
)

// settingWorkBits is how difficult a proof of work is.
const settingWorkBits = "work_bits"

// SetChallenge says what a sale asks of its buyers from now on; every node knows within a second. ErrNoRow: there is no
// such sale.
func (s *Store) SetChallenge(ctx context.Context, sale app.ID, c app.Challenge) error {
	return s.edit(ctx, "set the entry check of a sale", func(tx bun.Conn) error {
		// The version makes the row differ, so that the count of rows tells whether there is one.
		n, err := exec(ctx, tx, "UPDATE sales SET challenge = ?, version = version + 1 WHERE id = ?", c, sale)
		if err == nil && n == 0 {
			err = app.ErrNoRow
		}
		return err
	})
}

// WorkBits is how difficult a proof of work is; 0: nobody has said so.
func (s *Store) WorkBits(ctx context.Context) (int, error) {
	bits, err := counted(ctx, s.db, settingWorkBits)
	return int(bits), wrap("read how difficult proofs of work are", err)
}

// SetWorkBits says how difficult proofs of work are from now on. Those that were set before stay as they are.
func (s *Store) SetWorkBits(ctx context.Context, bits int) error {
	if bits < app.LeastWorkBits || bits > app.MostWorkBits {
		return app.Fail(app.BadRequest,
			fmt.Sprintf("a proof of work has from %d to %d bits", app.LeastWorkBits, app.MostWorkBits))
	}
	return s.inTx(ctx, "set how difficult proofs of work are", func(tx bun.Conn) error {
		text := strconv.Itoa(bits)
		_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, ?) "+s.d.onTaken+" value = ?",
			settingWorkBits, text, text)
		return err
	})
}
