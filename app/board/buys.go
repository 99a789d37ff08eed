package board

import "stampede/app/shop"

// BuyCounts counts the buys of this node, together and by sale. A nil BuyCounts counts nothing.
type BuyCounts struct {
	Node  *Counters
	Sales *SaleCounts
}

// BuyResult is the result of a buy attempt.
type BuyResult struct {
	Sale      shop.ID
	SaleFound bool       // the sale was looked up; without this check any id could fill the counters of sales
	Layer     shop.Layer // that rejected the buy
	Reserved  bool       // accepted, and not a repeat
	Err       error      // nil: not rejected
}

// Count counts a buy attempt. Each attempt is counted once, where it ends.
func (c *BuyCounts) Count(r BuyResult) {
	if c == nil {
		return
	}
	c.Node.Of(r.Sale).Count(r.Reserved, r.Err)
	if r.SaleFound {
		c.Sales.Count(r.Sale, r.Layer, r.Reserved, r.Err)
		return
	}
	c.Sales.Reject(r.Sale, r.Layer, r.Err)
}
