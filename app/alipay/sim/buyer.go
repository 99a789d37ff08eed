package sim

import "net/url"

// Pay pays the order as the buyer does at the cashier. It fails if the trade does not exist or has ended.
func (s *Simulator) Pay(order string) error { return s.notifyResult(s.book.take(order, false)) }

// Cancel closes the trade as the buyer does at the cashier.
func (s *Simulator) Cancel(order string) error { return s.notifyResult(s.book.close(order)) }

// PayLate pays with money that was in transit when the trade was closed. It fails if the trade does not exist or is
// paid already.
func (s *Simulator) PayLate(order string) error { return s.notifyResult(s.book.take(order, true)) }

// Repeat sends another notification about the order's trade to the shop.
func (s *Simulator) Repeat(order string) error { return s.notifyResult(s.book.read(order)) }

// notifyResult notifies the shop about a trade unless err is set.
func (s *Simulator) notifyResult(t Trade, err error) error {
	if err == nil {
		s.notify(t)
	}
	return err
}

// Open opens a payment as the buyer: the address of a page or wap payment, or the order string of an app payment,
// signed by the shop. It returns the trade's order.
func (s *Simulator) Open(signed string) (order string, err error) {
	if u, err := url.Parse(signed); err == nil && u.RawQuery != "" {
		signed = u.RawQuery
	}
	form, err := url.ParseQuery(signed)
	if err != nil {
		return "", err
	}
	t, rejected := s.open(form)
	if rejected != nil {
		return "", rejected
	}
	return t.Order, nil
}

// Error returns the code and sub-code of the rejection.
func (r *rejection) Error() string { return r.code + " " + r.sub }

// open checks the shop's signature and starts the trade.
func (s *Simulator) open(form url.Values) (Trade, *rejection) {
	q, rejected := s.verifyRequest(form)
	if rejected != nil {
		return Trade{}, rejected
	}
	switch q.method {
	case "alipay.trade.page.pay", "alipay.trade.wap.pay", "alipay.trade.app.pay":
	default:
		return Trade{}, &rejection{"40001", "isv.missing-method"}
	}
	t, rejected := s.newTrade(q)
	if rejected != nil {
		return Trade{}, rejected
	}
	t, err := s.book.addSigned(t, true)
	if err != nil {
		return Trade{}, rejectionOf(err)
	}
	if !t.started {
		return t, &rejection{"40004", "ACQ.TRADE_HAS_CLOSE"}
	}
	return t, nil
}

// Ledger returns all amounts and trades.
func (s *Simulator) Ledger() Ledger { return s.book.ledger() }
