package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// states maps the gateway's trade states to the states of the package payment.
var states = map[alipay.TradeStatus]payment.TradeState{
	alipay.TradeStatusWaitBuyerPay: payment.TradeWaiting,
	alipay.TradeStatusSuccess:      payment.TradePaid,
	alipay.TradeStatusFinished:     payment.TradePaid, // paid, and the period for refunds is over
	alipay.TradeStatusClosed:       payment.TradeClosed,
}

const (
	noSuchTrade = "ACQ.TRADE_NOT_EXIST"
	wrongStatus = "ACQ.TRADE_STATUS_ERROR"
)

// Query reads a trade. It returns TradeAbsent and no error if the gateway has no such trade. The gateway closes a trade
// after a full refund.
func (a *Alipay) Query(ctx context.Context, id shop.ID) (payment.Trade, error) {
	request := alipay.TradeQuery{OutTradeNo: id.String()}
	var reply struct {
		head
		OutTradeNo  string             `json:"out_trade_no"`
		TradeNo     string             `json:"trade_no"`
		TradeStatus alipay.TradeStatus `json:"trade_status"`
		TotalAmount string             `json:"total_amount"`
		SendPayDate string             `json:"send_pay_date"`
	}
	err := a.call(ctx, request, &reply)
	if isRejection(err, noSuchTrade) {
		return payment.Trade{Order: id, State: payment.TradeAbsent}, nil
	}
	if err != nil {
		return payment.Trade{}, err
	}
	state, known := states[reply.TradeStatus]
	amount, amountErr := shop.ParseFen(reply.TotalAmount)
	if reply.OutTradeNo != id.String() || !known || amountErr != nil || reply.TradeNo == "" {
		return payment.Trade{}, errUnknown(request.APIName(), fmt.Errorf("the reply for order %v is invalid: %+v", id, reply))
	}
	paid := parseTime(reply.SendPayDate)
	t := payment.Trade{Order: id, No: reply.TradeNo, State: state, AmountFen: amount, PaidAt: paid}
	if state == payment.TradeClosed && paid != 0 {
		t.RefundedFen = amount
	}
	return t, nil
}

// Close ends an unpaid trade and returns its resulting state: closed, absent, or paid if the buyer paid first.
func (a *Alipay) Close(ctx context.Context, id shop.ID) (payment.Trade, error) {
	request := alipay.TradeClose{OutTradeNo: id.String()}
	var reply struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		TradeNo    string `json:"trade_no"`
	}
	err := a.call(ctx, request, &reply)
	switch {
	case isRejection(err, noSuchTrade):
		return payment.Trade{Order: id, State: payment.TradeAbsent}, nil
	case isRejection(err, wrongStatus): // the trade is paid or was closed earlier; Query returns the state
		return a.Query(ctx, id)
	case err != nil:
		return payment.Trade{}, err
	case reply.OutTradeNo != id.String():
		return payment.Trade{}, errUnknown(request.APIName(), fmt.Errorf("the reply for order %v is about %q", id, reply.OutTradeNo))
	}
	return payment.Trade{Order: id, No: reply.TradeNo, State: payment.TradeClosed}, nil
}
