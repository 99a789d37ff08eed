package alipay

import (
	"context"
	"fmt"
	"net/url"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/alipay/rsa2"
	"stampede/app/payment"
	"stampede/app/shop"
)

// VerifyNotification verifies the signature, app and seller of a notification and returns its trade, or
// payment.ErrForged. The package payment checks order, amount and state. The library checks only the signature;
// VerifyNotification checks the other fields first, because these checks are cheap. It makes no outgoing call: a
// notification that names an unknown certificate is forged, and the certificate is not fetched.
func (a *Alipay) VerifyNotification(form url.Values) (payment.Trade, error) {
	for name, values := range form {
		if len(values) != 1 {
			return payment.Trade{}, errForged("the field %q occurs %d times", name, len(values))
		}
	}
	switch {
	case form.Get("sign_type") != "RSA2":
		return payment.Trade{}, errForged("sign_type is %q", form.Get("sign_type"))
	case !a.acceptsCert(form.Get(rsa2.CertSN)):
		return payment.Trade{}, errForged("the notification names the certificate %q, want %q", form.Get(rsa2.CertSN), a.certSN)
	case form.Get("app_id") != a.options.AppID:
		return payment.Trade{}, errForged("the notification is for the app %q", form.Get("app_id"))
	case a.options.SellerID != "" && form.Get("seller_id") != a.options.SellerID:
		return payment.Trade{}, errForged("the notification is for the seller %q", form.Get("seller_id"))
	}
	// The gateway signs the bytes of its charset, which is GBK for some shops. All fields that are read are ASCII.
	n, err := a.client.DecodeNotification(context.Background(), form)
	if err != nil {
		return payment.Trade{}, errForged("invalid signature: %v", err)
	}
	t, err := a.readNotification(n)
	t.Mark, t.Refund = payment.ParseMark(form.Get("body")), form.Get("out_biz_no")
	return t, err
}

// readNotification reads a verified notification. A malformed notification with a valid signature is not forged: the
// shop replies `failure`, and the gateway sends the notification again.
func (a *Alipay) readNotification(n *alipay.Notification) (payment.Trade, error) {
	id, err := shop.ParseID(n.OutTradeNo)
	if err != nil {
		return payment.Trade{}, fmt.Errorf("notification about out_trade_no %q: %w", shop.Clip(n.OutTradeNo, 40), err)
	}
	state, known := states[n.TradeStatus]
	amount, amountErr := shop.ParseFen(n.TotalAmount)
	if !known || amountErr != nil || n.TradeNo == "" {
		return payment.Trade{}, fmt.Errorf("notification about order %v: trade_no %q, trade_status %q, total_amount %q are invalid",
			id, n.TradeNo, n.TradeStatus, n.TotalAmount)
	}
	t := payment.Trade{Order: id, No: n.TradeNo, State: state, AmountFen: amount, PaidAt: parseTime(n.GmtPayment)}
	if n.RefundFee != "" {
		if t.RefundedFen, err = shop.ParseFen(n.RefundFee); err != nil {
			return payment.Trade{}, fmt.Errorf("notification about order %v: refund_fee: %w", id, err)
		}
	}
	return t, nil
}

// acceptsCert reports whether certSN is an accepted name of the gateway's certificate. An empty name is accepted in
// both modes; public-key mode accepts no other name. Signatures are always verified with the configured key.
func (a *Alipay) acceptsCert(certSN string) bool { return certSN == "" || certSN == a.certSN }

func errForged(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, payment.ErrForged)...)
}
