package sim

import "net/url"

// Pay is the buyer of the order pressing Pay at the cashier. It fails when the trade does not exist, or is over.
func (s *Simulator) Pay(order string) error { return s.tell(s.book.take(order, false)) }

// GiveUp is the buyer pressing Close.
func (s *Simulator) GiveUp(order string) error { return s.tell(s.book.close(order)) }

// PayLate is money that was on its way when the trade was closed, and arrives all the same. It fails when the trade
// does not exist, or was paid before.
func (s *Simulator) PayLate(order string) error { return s.tell(s.book.take(order, true)) }

// Repeat tells the shop once more what the order's trade is.
func (s *Simulator) Repeat(order string) error { return s.tell(s.book.read(order)) }

// tell notifies the shop of what became of a trade, unless it did not.
func (s *Simulator) tell(t Trade, err error) error {
	if err == nil {
		s.notify(t)
	}
	return err
}

// Come is the buyer coming to the cashier with what the shop signed: the address of a page or wap payment, or the order
// string of an app payment. It answers the trade's order.
func (s *Simulator) Come(signed string) (order string, err error) {
	if u, err := url.Parse(signed); err == nil && u.RawQuery != "" {
		signed = u.RawQuery
	}
	form, err := url.ParseQuery(signed)
	if err != nil {
		return "", err
	}
	t, refused := s.come(form)
	if refused != nil {
		return "", refused
	}
	return t.Order, nil
}

// Error says why the buyer cannot pay.
func (n *no) Error() string { return n.code + " " + n.sub }

// come checks what the shop signed and lets the trade begin.
func (s *Simulator) come(form url.Values) (Trade, *no) {
	q, refused := s.read(form)
	if refused != nil {
		return Trade{}, refused
	}
	switch q.method {
	case "alipay.trade.page.pay", "alipay.trade.wap.pay", "alipay.trade.app.pay":
	default:
		return Trade{}, &no{"40001", "isv.missing-method"}
	}
	t, refused := s.trade(q)
	if refused != nil {
		return Trade{}, refused
	}
	t, err := s.book.sign(t, true)
	if err != nil {
		return Trade{}, reason(err)
	}
	if !t.begun {
		return t, &no{"40004", "ACQ.TRADE_HAS_CLOSE"}
	}
	return t, nil
}

// Ledger is where every fen is.
func (s *Simulator) Ledger() Ledger { return s.book.ledger() }
