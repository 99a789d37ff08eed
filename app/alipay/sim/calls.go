package sim

import (
	"stampede/app/shop"
)

func (s *Simulator) query(q request) (fields, *no) {
	t, err := s.book.read(q.content.OutTradeNo)
	if err != nil {
		return nil, reason(err)
	}
	f := done(&t)
	f["trade_status"], f["total_amount"], f["buyer_logon_id"] = t.Status, shop.FormatFen(t.AmountFen), "buy***@example.com"
	if t.TakenFen > 0 {
		f["send_pay_date"], f["receipt_amount"] = t.PaidAt.In(s.zone).Format(clock), shop.FormatFen(t.TakenFen)
	}
	return f, nil
}

// closeTrade closes a trade for the shop. Faults make the buyer pay just before the close, or the money arrive after
// it.
func (s *Simulator) closeTrade(q request) (fields, *no) {
	order := q.content.OutTradeNo
	if _, is := s.faults.strike(PaidBeforeClose, order, q.method); is {
		_ = s.Pay(order) // fails if the trade cannot be paid
	}
	t, err := s.book.close(order)
	if err != nil {
		return nil, reason(err)
	}
	if _, is := s.faults.strike(PaidAfterClose, order, q.method); is {
		_ = s.PayLate(order) // it was closed just before
	} else {
		s.notify(t)
	}
	return done(&t), nil
}

func (s *Simulator) precreate(q request, base string) (fields, *no) {
	t, refused := s.trade(q)
	if refused != nil {
		return nil, refused
	}
	t.returnURL = "" // the scanning phone has no page of the shop for a return
	t, err := s.book.sign(t, false)
	switch {
	case err != nil:
		return nil, reason(err)
	case t.Status == Success:
		return nil, &no{"40004", "ACQ.TRADE_HAS_SUCCESS"}
	case t.Status == Closed:
		return nil, &no{"40004", "ACQ.TRADE_HAS_CLOSE"}
	}
	return fields{"code": "10000", "msg": "Success", "out_trade_no": t.Order, "qr_code": base + "/qr/" + t.token}, nil
}

func (s *Simulator) refund(q request) (fields, *no) {
	fen, err := shop.ParseFen(q.content.RefundAmount)
	if err != nil || q.content.OutRequestNo == "" {
		return nil, &no{"40004", "ACQ.INVALID_PARAMETER"}
	}
	t, fresh, err := s.book.refund(q.content.OutTradeNo, q.content.OutRequestNo, fen)
	if err != nil {
		return nil, reason(err)
	}
	f := done(&t)
	f["fund_change"], f["refund_fee"] = "N", shop.FormatFen(t.RefundedFen)
	if fresh {
		f["fund_change"] = "Y"
		s.notify(t)
	}
	return f, nil
}

func (s *Simulator) refunded(q request) (fields, *no) {
	t, err := s.book.read(q.content.OutTradeNo)
	if err != nil {
		return nil, reason(err)
	}
	f := done(&t)
	for _, r := range t.Refunds {
		if r.Request == q.content.OutRequestNo {
			f["out_request_no"], f["refund_amount"] = r.Request, shop.FormatFen(r.AmountFen)
			f["total_amount"], f["refund_status"] = shop.FormatFen(t.AmountFen), "REFUND_SUCCESS"
		}
	}
	return f, nil
}
