package streams

import (
	"context"
	"fmt"

	"stampede/app"
)

var _ app.MoveKeeper = (*Inventory)(nil)

// MoveOut takes units out of a portion, once for each move. See app.MoveKeeper.
func (l *Inventory) MoveOut(ctx context.Context, m app.Move) (taken, epoch int64, known bool, err error) {
	if _, err := l.keys(m.From.Partition); err != nil {
		return 0, 0, false, err
	}
	epoch = l.Epoch(m.From.Partition) // once: the script decides under the very epoch that is answered
	reply, err := l.run(ctx, moveOutScript, m.From.Partition, saleKeys(m.From.ID), epoch, m.No, m.Units)
	if err != nil {
		return 0, 0, false, fmt.Errorf("take units out of portion %s: %w", m.From.ID, err)
	}
	if integer(reply[0]) == codeAlready {
		return 0, epoch, false, nil
	}
	return integer(reply[1]), epoch, true, nil
}

// MoveIn gives a portion the units of a move, once. See app.MoveKeeper.
func (l *Inventory) MoveIn(ctx context.Context, m app.Move) error {
	if _, err := l.keys(m.To.Partition); err != nil {
		return err
	}
	epoch := l.Epoch(m.To.Partition)
	if _, err := l.run(ctx, moveInScript, m.To.Partition, saleKeys(m.To.ID), epoch, m.No, m.Taken); err != nil {
		return fmt.Errorf("give units to portion %s: %w", m.To.ID, err)
	}
	return nil
}
