package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app"
)

// states are the gateway's words for a trade.
var states = map[alipay.TradeStatus]app.TradeState{
	alipay.TradeStatusWaitBuyerPay: app.TradeWaiting,
	alipay.TradeStatusSuccess:      app.TradePaid,
	alipay.TradeStatusFinished:     app.TradePaid, // paid, and the time for refunds is over
	alipay.TradeStatusClosed:       app.TradeClosed,
}

const (
	noSuchTrade = "ACQ.TRADE_NOT_EXIST"
	wrongStatus = "ACQ.TRADE_STATUS_ERROR"
)

// Query implements app.Gateway. The gateway closes a trade that was refunded as a whole.
func (a *Alipay) Query(ctx context.Context, id app.ID) (app.Trade, error) {
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
		return app.Trade{Order: id, State: app.TradeAbsent}, nil
	}
	if err != nil {
		return app.Trade{}, err
	}
	state, known := states[answer.TradeStatus]
	amount, wrong := app.ParseFen(answer.TotalAmount)
	if answer.OutTradeNo != id.String() || !known || wrong != nil || answer.TradeNo == "" {
		return app.Trade{}, unknown(question.APIName(), fmt.Errorf("the answer for order %v makes no sense: %+v", id, answer))
	}
	paid := a.instant(answer.SendPayDate)
	t := app.Trade{Order: id, No: answer.TradeNo, State: state, AmountFen: amount, PaidAt: paid}
	if state == app.TradeClosed && paid != 0 {
		t.RefundedFen = amount
	}
	return t, nil
}

// Close implements app.Gateway.
func (a *Alipay) Close(ctx context.Context, id app.ID) (app.Trade, error) {
	question := alipay.TradeClose{OutTradeNo: id.String()}
	var answer struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		TradeNo    string `json:"trade_no"`
	}
	err := a.call(ctx, question, &answer)
	switch {
	case saysNo(err, noSuchTrade):
		return app.Trade{Order: id, State: app.TradeAbsent}, nil
	case saysNo(err, wrongStatus): // paid, or closed before: it says which when asked
		return a.Query(ctx, id)
	case err != nil:
		return app.Trade{}, err
	case answer.OutTradeNo != id.String():
		return app.Trade{}, unknown(question.APIName(), fmt.Errorf("the answer for order %v is about %q", id, answer.OutTradeNo))
	}
	return app.Trade{Order: id, No: answer.TradeNo, State: app.TradeClosed}, nil
}
