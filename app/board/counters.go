package board

import (
	"sync/atomic"

	"stampede/app/shop"
)

// codes lists all codes of rejected buys, in the order of the counters.
var codes = [...]shop.Code{
	shop.BadRequest, shop.Unauthorized, shop.Forbidden, shop.NotFound, shop.UnknownOp, shop.NotOpen, shop.Closed,
	shop.SoldOut, shop.LimitReached, shop.DuplicateKey,
	shop.WrongState, shop.Conflict, shop.RateLimited, shop.Busy, shop.Paused, shop.PassRequired, shop.CaptchaRequired,
	shop.AddressRequired, shop.OrderExpired, shop.Internal,
}

var codeNumbers = func() map[shop.Code]int {
	numbers := make(map[shop.Code]int, len(codes))
	for i, code := range codes {
		numbers[code] = i
	}
	return numbers
}()

// soldOutNumber is the index of the most frequent code in a popular sale; it is not looked up each time.
var soldOutNumber = codeNumbers[shop.SoldOut]

// Counter counts the results of all buys. Each count is an addition and allocates nothing. A nil Counter counts
// nothing.
type Counter struct {
	attempts atomic.Int64
	reserved atomic.Int64
	rejected [len(codes)]atomic.Int64
}

// Count counts a buy by its result. A nil error means reserved now, or a repeat of a reservation.
func (c *Counter) Count(reserved bool, err error) {
	if c == nil {
		return
	}
	c.attempts.Add(1)
	switch {
	case err != nil:
		c.reject(err)
	case reserved:
		c.reserved.Add(1)
	}
}

func (c *Counter) reject(err error) {
	code := shop.AsError(err).Code
	if code == shop.SoldOut {
		c.rejected[soldOutNumber].Add(1)
		return
	}
	number, known := codeNumbers[code]
	if !known {
		number = codeNumbers[shop.Internal]
	}
	c.rejected[number].Add(1)
}

// Counters counts the buys of all sales that are not hidden. A nil Counters counts nothing.
type Counters struct {
	All      Counter
	IsHidden func(sale shop.ID) bool // nil: no sale is hidden
}

// Of returns the counter for buys of the sale. For a hidden sale it returns nil, which counts nothing.
func (c *Counters) Of(sale shop.ID) *Counter {
	if c == nil || c.IsHidden != nil && c.IsHidden(sale) {
		return nil
	}
	return &c.All
}

// Attempts returns the number of buy attempts.
func (c *Counter) Attempts() int64 { return c.attempts.Load() }

// Reserved returns the number of accepted buys. A repeat is neither reserved nor rejected.
func (c *Counter) Reserved() int64 { return c.reserved.Load() }

// Rejected returns the number of rejected buys for each code.
func (c *Counter) Rejected() map[shop.Code]int64 {
	rejected := make(map[shop.Code]int64, len(codes))
	for i, code := range codes {
		rejected[code] = c.rejected[i].Load()
	}
	return rejected
}
