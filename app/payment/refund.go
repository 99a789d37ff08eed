package payment

import (
	"context"
	"fmt"

	"stampede/app"
)

// refund is the content of a refund, and of the question about one.
type refund struct {
	OutTradeNo   string `json:"out_trade_no"`
	TradeNo      string `json:"trade_no,omitempty"`
	RefundAmount string `json:"refund_amount,omitempty"`
	RefundReason string `json:"refund_reason,omitempty"`
	OutRequestNo string `json:"out_request_no"`
}

// Refund implements app.Gateway. The gateway answers a repeat like the first time, only without moving money again; it
// answers the same way when it has not moved any yet, so then it is asked.
func (a *Alipay) Refund(ctx context.Context, r app.RefundRequest) error {
	const method = "alipay.trade.refund"
	var answer struct {
		OutTradeNo string `json:"out_trade_no"`
		FundChange string `json:"fund_change"`
	}
	err := a.call(ctx, method, refund{
		OutTradeNo: r.Order.String(), TradeNo: r.TradeNo, RefundAmount: app.FormatFen(r.AmountFen),
		RefundReason: subject(r.Reason), OutRequestNo: r.Request,
	}, &answer)
	if err != nil {
		return err
	}
	if answer.OutTradeNo != r.Order.String() {
		return unknown(method, fmt.Errorf("the answer for order %v is about %q", r.Order, answer.OutTradeNo))
	}
	if answer.FundChange == "Y" {
		return nil
	}
	done, err := a.Refunded(ctx, r)
	if err == nil && !done {
		return unknown(method, fmt.Errorf("the gateway took the request %s and has not moved the money", r.Request))
	}
	return err
}

// Refunded implements app.Gateway. Another amount under the same number is a no: this refund cannot be done any more.
func (a *Alipay) Refunded(ctx context.Context, r app.RefundRequest) (bool, error) {
	const method = "alipay.trade.fastpay.refund.query"
	var answer struct {
		OutTradeNo   string `json:"out_trade_no"`
		OutRequestNo string `json:"out_request_no"`
		RefundAmount string `json:"refund_amount"`
		RefundStatus string `json:"refund_status"`
	}
	err := a.call(ctx, method, refund{OutTradeNo: r.Order.String(), TradeNo: r.TradeNo, OutRequestNo: r.Request}, &answer)
	switch {
	case saysNo(err, noSuchTrade):
		return false, nil
	case err != nil:
		return false, err
	case answer.RefundStatus != "REFUND_SUCCESS":
		return false, nil
	case answer.OutTradeNo != r.Order.String() || answer.OutRequestNo != r.Request:
		return false, unknown(method, fmt.Errorf("the answer for request %s is about %s", r.Request, answer.OutRequestNo))
	}
	amount, err := app.ParseFen(answer.RefundAmount)
	if err != nil {
		return false, unknown(method, err)
	}
	if amount != r.AmountFen {
		return false, fmt.Errorf("request %s gave back %d fen, not %d: %w", r.Request, amount, r.AmountFen, app.ErrGatewayRefused)
	}
	return true, nil
}
