package shop

// NewOrder is a row to be inserted: Pending (the guard takes its units), Cancelled or Refused.
type NewOrder = Order

// Inserted is what became of one row that was to be inserted.
type Inserted struct {
	Order Order // the row as the database has it now, whoever wrote it
	Fresh bool  // this call wrote it; false: it was there before and nothing changed
}

// OrdersQuery pages through the orders of one user, newest first.
type OrdersQuery struct {
	User   ID
	Sale   ID  // 0: all
	Before ID  // 0: from the newest
	Limit  int // 1–100
}

// SaleTotals is what one MySQL snapshot says of a sale.
type SaleTotals struct {
	Sale        Sale
	Taken       int64 // the guard: units given to rows that hold units
	Withdrawn   int64
	HeldUnits   int64 // of pending rows
	SoldUnits   int64 // of paid, shipped, finished and refunding rows
	GoneUnits   int64 // of refunded rows
	Orders      int64
	MaxTicket   int64
	MaxSeq      int64
	OverLimit   []ID // buyers with more units than the limit
	Duplicates  int64
	PendingRows int64
	Moneyless   int64 // orders that are paid, shipped or finished without a payment
	// Pending are the withdrawals that Redis may have decided and Withdrawn does not have yet.
	Pending []int64
}
