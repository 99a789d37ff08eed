package faults

import (
	"context"

	"stampede/app"
)

// Moves puts a fault before a store of moves between portions.
func Moves(to app.MoveStore, f Fault) app.MoveStore { return moves{to, f} }

type moves struct {
	app.MoveStore
	f Fault
}

func (s moves) AskMove(ctx context.Context, m app.Move) (now app.Move, asked bool, err error) {
	now, err = through(ctx, s.f, "Moves.AskMove", func() (now app.Move, err error) {
		now, asked, err = s.MoveStore.AskMove(ctx, m)
		return now, err
	})
	return now, asked, err
}

func (s moves) SettleMove(ctx context.Context, m app.Move, taken, epoch int64) (app.Move, error) {
	return through(ctx, s.f, "Moves.SettleMove",
		func() (app.Move, error) { return s.MoveStore.SettleMove(ctx, m, taken, epoch) })
}

func (s moves) EndMove(ctx context.Context, m app.Move) error {
	return s.f(ctx, "Moves.EndMove", func() error { return s.MoveStore.EndMove(ctx, m) })
}

func (s moves) FenceMoves(ctx context.Context, sale app.ID, no int64) (app.Move, error) {
	return through(ctx, s.f, "Moves.FenceMoves", func() (app.Move, error) { return s.MoveStore.FenceMoves(ctx, sale, no) })
}

func (s moves) CountMoved(
	ctx context.Context, m app.Move, counts []app.PortionCount,
) (now app.Move, surplus int64, err error) {
	now, err = through(ctx, s.f, "Moves.CountMoved", func() (now app.Move, err error) {
		now, surplus, err = s.MoveStore.CountMoved(ctx, m, counts)
		return now, err
	})
	return now, surplus, err
}

// MoveKeeper puts a fault before what moves units in Redis.
func MoveKeeper(to app.MoveKeeper, f Fault) app.MoveKeeper { return moveKeeper{to, f} }

type moveKeeper struct {
	app.MoveKeeper
	f Fault
}

func (k moveKeeper) MoveOut(ctx context.Context, m app.Move) (taken, epoch int64, known bool, err error) {
	taken, err = through(ctx, k.f, "Movers.MoveOut", func() (n int64, err error) {
		n, epoch, known, err = k.MoveKeeper.MoveOut(ctx, m)
		return n, err
	})
	return taken, epoch, known, err
}

func (k moveKeeper) MoveIn(ctx context.Context, m app.Move, epoch int64) error {
	return k.f(ctx, "Movers.MoveIn", func() error { return k.MoveKeeper.MoveIn(ctx, m, epoch) })
}

func (k moveKeeper) FencePortion(ctx context.Context, portion app.SaleRef, no int64) (app.PortionCount, error) {
	return through(ctx, k.f, "Movers.FencePortion",
		func() (app.PortionCount, error) { return k.MoveKeeper.FencePortion(ctx, portion, no) })
}
