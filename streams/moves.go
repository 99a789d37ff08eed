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
func (l *Inventory) MoveIn(ctx context.Context, m app.Move, epoch int64) error {
	if _, err := l.keys(m.To.Partition); err != nil {
		return err
	}
	if _, err := l.run(ctx, moveInScript, m.To.Partition, saleKeys(m.To.ID), epoch, m.No, m.Taken); err != nil {
		return fmt.Errorf("give units to portion %s: %w", m.To.ID, err)
	}
	return nil
}

// FencePortion ends all moves of a portion up to the number. See app.MoveKeeper.
func (l *Inventory) FencePortion(ctx context.Context, portion app.SaleRef, no int64) (app.PortionCount, error) {
	count := app.PortionCount{SaleRef: portion}
	if _, err := l.keys(portion.Partition); err != nil {
		return count, err
	}
	count.Epoch = l.Epoch(portion.Partition)
	reply, err := l.run(ctx, moveFenceScript, portion.Partition, saleKeys(portion.ID), count.Epoch, no)
	if err != nil {
		if len(reply) > 0 && integer(reply[0]) == codeNotLoaded {
			return count, nil
		}
		return count, fmt.Errorf("fence the moves of portion %s: %w", portion.ID, err)
	}
	count.Loaded = true
	if integer(reply[0]) == codeAlready {
		count.Later = integer(reply[1])
	} else {
		count.Initial = integer(reply[1])
	}
	return count, nil
}

// LastMove is the number of the last move of a portion. See app.MoveKeeper.
func (l *Inventory) LastMove(ctx context.Context, portion app.SaleRef) (int64, error) {
	k, err := l.keys(portion.Partition)
	if err != nil {
		return 0, err
	}
	numbers, err := l.client.HMGet(ctx, k.sale(portion.ID), "moved_out", "moved_in").Result()
	if err != nil {
		return 0, fmt.Errorf("read the last move of portion %s: %w", portion.ID, transient(err))
	}
	return max(number(text(numbers[0])), number(text(numbers[1]))), nil
}
