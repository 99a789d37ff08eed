package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Refund returns money to the buyer. nil: the gateway has made the refund, now or earlier with the same request
// number. For a repeated request the gateway moves no money again, and fund_change is not "Y". The reply of a refund
// that was not made is the same, so Refund then queries the refund.
func (a *Alipay) Refund(ctx context.Context, r payment.RefundRequest) error {
	request := alipay.TradeRefund{
		OutTradeNo: r.Order.String(), TradeNo: r.TradeNo, RefundAmount: shop.FormatFen(r.AmountFen),
		RefundReason: cleanSubject(r.Reason), OutRequestNo: r.Request,
	}
	var reply struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		FundChange string `json:"fund_change"`
	}
	if err := a.call(ctx, request, &reply); err != nil {
		return err
	}
	if reply.OutTradeNo != r.Order.String() {
		return errUnknown(request.APIName(), fmt.Errorf("the reply for order %v is about %q", r.Order, reply.OutTradeNo))
	}
	if reply.FundChange == "Y" {
		return nil
	}
	done, err := a.Refunded(ctx, r)
	if err == nil && !done {
		return errUnknown(request.APIName(), fmt.Errorf("the gateway accepted request %s but did not move the money", r.Request))
	}
	return err
}

// Refunded queries whether a refund was made. If the gateway refunded another amount with the same request number, this
// refund is no longer possible: Refunded returns false and payment.ErrGatewayRefused.
func (a *Alipay) Refunded(ctx context.Context, r payment.RefundRequest) (bool, error) {
	request := alipay.TradeFastPayRefundQuery{
		OutTradeNo: r.Order.String(), TradeNo: r.TradeNo, OutRequestNo: r.Request,
	}
	var reply struct {
		head
		OutTradeNo   string `json:"out_trade_no"`
		OutRequestNo string `json:"out_request_no"`
		RefundAmount string `json:"refund_amount"`
		RefundStatus string `json:"refund_status"`
	}
	err := a.call(ctx, request, &reply)
	switch {
	case isRejection(err, noSuchTrade), err == nil && reply.RefundStatus != "REFUND_SUCCESS":
		return false, nil
	case err != nil:
		return false, err
	case reply.OutTradeNo != r.Order.String() || reply.OutRequestNo != r.Request:
		return false, errUnknown(request.APIName(),
			fmt.Errorf("the reply for request %s is about %s", r.Request, reply.OutRequestNo))
	}
	amount, err := shop.ParseFen(reply.RefundAmount)
	if err != nil {
		return false, errUnknown(request.APIName(), err)
	}
	if amount != r.AmountFen {
		return false, fmt.Errorf("request %s refunded %d fen, want %d: %w", r.Request, amount, r.AmountFen, payment.ErrGatewayRefused)
	}
	return true, nil
}
