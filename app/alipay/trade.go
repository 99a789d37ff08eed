package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// states are the gateway's words for a trade.
var states = map[alipay.TradeStatus]payment.TradeState{
	alipay.TradeStatusWaitBuyerPay: payment.TradeWaiting,
	alipay.TradeStatusSuccess:      payment.TradePaid,
	alipay.TradeStatusFinished:     payment.TradePaid, // paid, and the time for refunds is over
	alipay.TradeStatusClosed:       payment.TradeClosed,
}

const (
	noSuchTrade = "ACQ.TRADE_NOT_EXIST"
	wrongStatus = "ACQ.TRADE_STATUS_ERROR"
)

// Query reads a trade. TradeAbsent, and no error, when the gateway has none. The gateway closes a trade that was
// refunded as a whole.
func (a *Alipay) Query(ctx context.Context, id shop.ID) (payment.Trade, error) {
	question := alipay.TradeQuery{OutTradeNo: id.String()}
	var answer struct {
		head
		OutTradeNo  string             `json:"out_trade_no"`
		TradeNo     string             `json:"trade_no"`
		TradeStatus alipay.TradeStatus `json:"trade_status"`
		TotalAmount string             `json:"total_amount"`
		SendPayDate string             `json:"send_pay_date"`
	}
	err := a.call(ctx, question, &answer)
	if saysNo(err, noSuchTrade) {
		return payment.Trade{Order: id, State: payment.TradeAbsent}, nil
	}
	if err != nil {
		return payment.Trade{}, err
	}
	state, known := states[answer.TradeStatus]
	amount, wrong := shop.ParseFen(answer.TotalAmount)
	if answer.OutTradeNo != id.String() || !known || wrong != nil || answer.TradeNo == "" {
		return payment.Trade{}, unknown(question.APIName(), fmt.Errorf("the answer for order %v makes no sense: %+v", id, answer))
	}
	paid := a.instant(answer.SendPayDate)
	t := payment.Trade{Order: id, No: answer.TradeNo, State: state, AmountFen: amount, PaidAt: paid}
	if state == payment.TradeClosed && paid != 0 {
		t.RefundedFen = amount
	}
	return t, nil
}

// Close ends an unpaid trade and answers it as it is then: closed, absent, or paid because the buyer was faster.
func (a *Alipay) Close(ctx context.Context, id shop.ID) (payment.Trade, error) {
	question := alipay.TradeClose{OutTradeNo: id.String()}
	var answer struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		TradeNo    string `json:"trade_no"`
	}
	err := a.call(ctx, question, &answer)
	switch {
	case saysNo(err, noSuchTrade):
		return payment.Trade{Order: id, State: payment.TradeAbsent}, nil
	case saysNo(err, wrongStatus): // paid, or closed before: it says which when asked
		return a.Query(ctx, id)
	case err != nil:
		return payment.Trade{}, err
	case answer.OutTradeNo != id.String():
		return payment.Trade{}, unknown(question.APIName(), fmt.Errorf("the answer for order %v is about %q", id, answer.OutTradeNo))
	}
	return payment.Trade{Order: id, No: answer.TradeNo, State: payment.TradeClosed}, nil
}
