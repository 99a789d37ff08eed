package app

import "context"

// MoveState is how far the move of units between two portions has come:
//
//	done ── asked for, under the next number ──▶ asked ── Redis took units from the one ──▶ taken ── and gave them to the other ──▶ done
//	                                               └── none was free ──▶ done
type MoveState string

// The states of a move.
const (
	MoveDone  MoveState = "done"
	MoveAsked MoveState = "asked"
	MoveTaken MoveState = "taken"
)

// Move is the move of units from one portion of a sale to another. A sale has one at a time; with each the number
// grows.
type Move struct {
	Sale     ID
	No       int64
	State    MoveState
	From, To SaleRef
	Units    int64 // asked for
	Taken    int64 // at most so many: what was free
}

// MoveStore is the durable truth about moves. Errors wrap ErrTransient, ErrPermanent, ErrStaleEpoch or ErrNoRow.
type MoveStore interface {
	// Move reads the one of a sale that is under way, or the last one. ErrNoRow: the sale is not spread.
	Move(ctx context.Context, sale ID) (Move, error)
	// OpenMoves lists those that are under way.
	OpenMoves(ctx context.Context) ([]Move, error)
	// AskMove begins one when none is under way, and answers that of the sale; asked reports whether it is this one.
	AskMove(ctx context.Context, m Move) (now Move, asked bool, err error)
	// SettleMove has the units that Redis took under the epoch belong to the other portion, once, and answers what the
	// move is then. ErrStaleEpoch: the partition was made anew since, and decides again.
	SettleMove(ctx context.Context, m Move, taken, epoch int64) (Move, error)
	// EndMove notes that the other portion has got the units.
	EndMove(ctx context.Context, m Move) error
	// DropMove ends a move of which a portion has left Redis for good.
	DropMove(ctx context.Context, m Move) error
}

// MoveKeeper moves units in Redis.
type MoveKeeper interface {
	// MoveOut takes units that are free and do not rest out of a portion, at most so many, once for each number: called
	// again it answers what was taken, and under which epoch that is known. A move that is older than the last one that
	// Redis knows takes nothing, and known is false. ErrLost: the portion is not in Redis.
	MoveOut(ctx context.Context, m Move) (taken, epoch int64, known bool, err error)
	// MoveIn gives a portion the units that were taken for it, once for each number. ErrLost: as above.
	MoveIn(ctx context.Context, m Move) error
}
