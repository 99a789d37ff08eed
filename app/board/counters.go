package board

import (
	"sync/atomic"

	"stampede/app/shop"
)

// codeNumbers maps each code to its index in shop.Codes, the order of the counters.
var codeNumbers = func() map[shop.Code]int {
	numbers := make(map[shop.Code]int, len(shop.Codes))
	for i, code := range shop.Codes {
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
	rejected [len(shop.Codes)]atomic.Int64
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
	rejected := make(map[shop.Code]int64, len(shop.Codes))
	for i, code := range shop.Codes {
		rejected[code] = c.rejected[i].Load()
	}
	return rejected
}
