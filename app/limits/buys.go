package limits

import (
	"net/netip"

	"stampede/app/board"
	"stampede/app/shop"
)

// BuyLimiter admits buys of sockets and HTTP, and counts those that it rejects.
type BuyLimiter struct {
	Limiter *Limiter
	Counts  *board.BuyCounts
}

// Admit admits a buy of the user from the address, or fails with RateLimited.
func (b *BuyLimiter) Admit(user shop.ID, addr netip.Addr, sale shop.ID) error {
	err := b.Limiter.Take(Buy, user, addr)
	if err != nil {
		b.Counts.Count(board.BuyResult{Sale: sale, Layer: shop.LayerPace, Err: err})
	}
	return err
}
