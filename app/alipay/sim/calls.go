package sim

import (
	"stampede/app/shop"
)

func (s *Simulator) query(q request) (fields, *rejection) {
	t, err := s.book.read(q.content.OutTradeNo)
	if err != nil {
		return nil, rejectionOf(err)
	}
	f := successFields(&t)
	f["trade_status"], f["total_amount"], f["buyer_logon_id"] = t.Status, shop.FormatFen(t.AmountFen), "buy***@example.com"
	if t.TakenFen > 0 {
		f["send_pay_date"], f["receipt_amount"] = t.PaidAt.In(s.zone).Format(timeFormat), shop.FormatFen(t.TakenFen)
	}
	return f, nil
}

// closeTrade closes a trade for the shop. Faults make the buyer pay just before the close, or the money arrive after
// it.
func (s *Simulator) closeTrade(q request) (fields, *rejection) {
	order := q.content.OutTradeNo
	if _, active := s.faults.take(PaidBeforeClose, order, q.method); active {
		_ = s.Pay(order) // fails if the trade cannot be paid
	}
	t, err := s.book.close(order)
	if err != nil {
		return nil, rejectionOf(err)
	}
	if _, active := s.faults.take(PaidAfterClose, order, q.method); active {
		_ = s.PayLate(order) // cannot fail: the trade was closed above
	} else {
		s.notify(t)
	}
	return successFields(&t), nil
}

func (s *Simulator) precreate(q request, base string) (fields, *rejection) {
	t, rejected := s.newTrade(q)
	if rejected != nil {
		return nil, rejected
	}
	t.returnURL = "" // the scanning phone has no page of the shop for a return
	t, err := s.book.addSigned(t, false)
	switch {
	case err != nil:
		return nil, rejectionOf(err)
	case t.Status == Success:
		return nil, &rejection{"40004", "ACQ.TRADE_HAS_SUCCESS"}
	case t.Status == Closed:
		return nil, &rejection{"40004", "ACQ.TRADE_HAS_CLOSE"}
	}
	return fields{"code": "10000", "msg": "Success", "out_trade_no": t.Order, "qr_code": base + "/qr/" + t.token}, nil
}

func (s *Simulator) refund(q request) (fields, *rejection) {
	fen, err := shop.ParseFen(q.content.RefundAmount)
	if err != nil || q.content.OutRequestNo == "" {
		return nil, &rejection{"40004", "ACQ.INVALID_PARAMETER"}
	}
	t, moved, err := s.book.refund(q.content.OutTradeNo, q.content.OutRequestNo, fen)
	if err != nil {
		return nil, rejectionOf(err)
	}
	f := successFields(&t)
	f["fund_change"], f["refund_fee"] = "N", shop.FormatFen(t.RefundedFen)
	if moved {
		f["fund_change"] = "Y"
		s.notify(t)
	}
	return f, nil
}

func (s *Simulator) refunded(q request) (fields, *rejection) {
	t, err := s.book.read(q.content.OutTradeNo)
	if err != nil {
		return nil, rejectionOf(err)
	}
	f := successFields(&t)
	for _, r := range t.Refunds {
		if r.Request == q.content.OutRequestNo {
			f["out_request_no"], f["refund_amount"] = r.Request, shop.FormatFen(r.AmountFen)
			f["total_amount"], f["refund_status"] = shop.FormatFen(t.AmountFen), "REFUND_SUCCESS"
		}
	}
	return f, nil
}
