package shop

// Problem is an order about which a recovery has no proof. An operator settles it (stampede recover settle).
type Problem struct {
	Sale  ID     `json:"sale"`
	Order ID     `json:"order,omitzero"` // 0: the whole sale; it ends when Redis and the database agree
	Text  string `json:"message"`        // for operators

	Partition int    `json:"-"`
	User      ID     `json:"-"` // 0: unknown
	Entry     *Entry `json:"-"` // of an order without a row; nil: the order has a row
}

// ReasonChecking is the reason of a reservation that has no row until an operator has settled its problem.
const ReasonChecking = "checking"

// Reserved returns the order without a row as its buyer sees it.
func (p *Problem) Reserved() Order {
	o := p.Entry.Row()
	o.State, o.Rev, o.Reason = Reserved, 0, ReasonChecking
	return o
}

// FailChecking returns the error of a change of an order that an operator has to settle first.
func FailChecking() *Error {
	return Fail(WrongState, "the shop is checking this order ("+ReasonChecking+"); it cannot be changed until then")
}
