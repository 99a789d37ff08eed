package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Refund gives money back. nil: the gateway has done it, now or under the same request before. The gateway answers a
// repeat like the first time, only without moving money again; it answers the same way when it has not moved any yet,
// so then it is asked.
func (a *Alipay) Refund(ctx context.Context, r payment.RefundRequest) error {
	question := alipay.TradeRefund{
		OutTradeNo: r.Order.String(), TradeNo: r.TradeNo, RefundAmount: shop.FormatFen(r.AmountFen),
		RefundReason: subject(r.Reason), OutRequestNo: r.Request,
	}
	var answer struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		FundChange string `json:"fund_change"`
	}
	if err := a.call(ctx, question, &answer); err != nil {
		return err
	}
	if answer.OutTradeNo != r.Order.String() {
		return unknown(question.APIName(), fmt.Errorf("the answer for order %v is about %q", r.Order, answer.OutTradeNo))
	}
	if answer.FundChange == "Y" {
		return nil
	}
	done, err := a.Refunded(ctx, r)
	if err == nil && !done {
		return unknown(question.APIName(), fmt.Errorf("the gateway took the request %s and has not moved the money", r.Request))
	}
	return err
}

// Refunded asks whether a refund was done. Another amount under the same number is a no: this refund cannot be done any
// more.
func (a *Alipay) Refunded(ctx context.Context, r payment.RefundRequest) (bool, error) {
	question := alipay.TradeFastPayRefundQuery{
		OutTradeNo: r.Order.String(), TradeNo: r.TradeNo, OutRequestNo: r.Request,
	}
	var answer struct {
		head
		OutTradeNo   string `json:"out_trade_no"`
		OutRequestNo string `json:"out_request_no"`
		RefundAmount string `json:"refund_amount"`
		RefundStatus string `json:"refund_status"`
	}
	err := a.call(ctx, question, &answer)
	switch {
	case saysNo(err, noSuchTrade), err == nil && answer.RefundStatus != "REFUND_SUCCESS":
		return false, nil
	case err != nil:
		return false, err
	case answer.OutTradeNo != r.Order.String() || answer.OutRequestNo != r.Request:
		return false, unknown(question.APIName(),
			fmt.Errorf("the answer for request %s is about %s", r.Request, answer.OutRequestNo))
	}
	amount, err := shop.ParseFen(answer.RefundAmount)
	if err != nil {
		return false, unknown(question.APIName(), err)
	}
	if amount != r.AmountFen {
		return false, fmt.Errorf("request %s gave back %d fen, not %d: %w", r.Request, amount, r.AmountFen, payment.ErrGatewayRefused)
	}
	return true, nil
}
