package ports

import (
	"context"

	"stampede/app/board"
	"stampede/app/shop"
)

// SaleFiguresStore keeps what the processes have counted of each sale, for SaleFiguresLife after the last word.
type SaleFiguresStore interface {
	// SaySaleFigures replaces what the same process has stored of each sale: a repeat changes nothing.
	SaySaleFigures(ctx context.Context, all []board.SaleFigures) error
	// SaleFigures answers what all processes have said of a sale.
	SaleFigures(ctx context.Context, sale shop.ID) ([]board.SaleFigures, error)
}
