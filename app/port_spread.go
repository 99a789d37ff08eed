package app

import "context"

// MoveState is how far the move of units between two portions has come:
//
//	done ── asked for, under the next number ──▶ asked ── Redis took units from the one ──▶ taken ── and gave them to the other ──▶ done
//	                                               └── none was free ──▶ done
//	any ── the database was promoted, and may have forgotten moves ──▶ fenced ── it has what Redis has ──▶ taken (units that
//	were on their way) or done
type MoveState string

// The states of a move.
const (
	MoveDone  MoveState = "done"
	MoveAsked MoveState = "asked"
	MoveTaken MoveState = "taken"
	// MoveFenced is the state while no move goes on, not even one that is forgotten: nobody settles it or asks for one.
	MoveFenced MoveState = "fenced"
)

// Move is the move of units from one portion of a sale to another. A sale has one at a time; with each the number
// grows, and it is an instant at least (milliseconds), so that a database that has forgotten moves gives none of their
// numbers to another one.
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
	// Its number is at least that of m.
	AskMove(ctx context.Context, m Move) (now Move, asked bool, err error)
	// SettleMove has the units that Redis took under the epoch belong to the other portion, once, and answers what the
	// move is then. ErrStaleEpoch: the partition was made anew since, and decides again.
	SettleMove(ctx context.Context, m Move, taken, epoch int64) (Move, error)
	// EndMove notes that the other portion has got the units.
	EndMove(ctx context.Context, m Move) error
	// DropMove ends a move of which a portion has left Redis for good.
	DropMove(ctx context.Context, m Move) error
	// FenceMoves keeps everybody from going on with the sale's move, and from asking for one, under a number of at
	// least no.
	FenceMoves(ctx context.Context, sale ID, no int64) (Move, error)
	// CountMoved ends the fence: the portions have in the database what they have in Redis. Units that were on their
	// way there go to one of them by another move, which is answered. If Redis has more than the sale, by a surplus,
	// nothing is changed but that moves go on. ErrStaleEpoch: a partition was made anew since; count again.
	CountMoved(ctx context.Context, m Move, counts []PortionCount) (now Move, surplus int64, err error)
	// Sale reads a sale with its portions.
	Sale(ctx context.Context, id ID) (Sale, error)
}

// PortionCount is what a portion was given in Redis by a fence: moves up to that number take no units out of it any
// more, and bring it none.
type PortionCount struct {
	SaleRef

	Loaded  bool  // false: it is not in Redis
	Initial int64 // with what moves have taken and brought
	Epoch   int64 // under which this is known
	Later   int64 // a later number that Redis knows already; then there is no fence
}

// MoveKeeper moves units in Redis.
type MoveKeeper interface {
	// MoveOut takes units that are free and do not rest out of a portion, at most so many, once for each number: called
	// again it answers what was taken, and under which epoch that is known. A move that is older than the last one that
	// Redis knows takes nothing, and known is false. ErrLost: the portion is not in Redis.
	MoveOut(ctx context.Context, m Move) (taken, epoch int64, known bool, err error)
	// Epoch is that which this node knows of a partition.
	Epoch(partition int) int64
	// MoveIn gives a portion the units that were taken for it, under an epoch, once for each number. ErrLost: as above.
	MoveIn(ctx context.Context, m Move, epoch int64) error
	// FencePortion lets a portion take part in no move up to the number any more, and answers what it has.
	FencePortion(ctx context.Context, portion SaleRef, no int64) (PortionCount, error)
	// LastMove is the number of the last move, or fence, that Redis knows of a portion; 0: none, or it is not there.
	LastMove(ctx context.Context, portion SaleRef) (int64, error)
}
