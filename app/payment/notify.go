package payment

import (
	"fmt"
	"net/url"
	"strings"

	"stampede/app"
	"stampede/app/payment/rsa2"
)

// Notified implements app.Gateway. The cheap looks come before the signature, and there is no outgoing call whatever the
// notification says: one that names a certificate that this shop does not know is forged, not a reason to fetch it.
func (a *Alipay) Notified(form url.Values) (app.Trade, error) {
	for name, values := range form {
		if len(values) != 1 {
			return app.Trade{}, forged("%q comes %d times", name, len(values))
		}
	}
	switch {
	case form.Get("sign_type") != "RSA2":
		return app.Trade{}, forged("sign_type is %q", form.Get("sign_type"))
	case !a.knows(form.Get(rsa2.CertSN)):
		return app.Trade{}, forged("it names the certificate %q, this shop knows %q", form.Get(rsa2.CertSN), a.certSN)
	case form.Get("app_id") != a.options.AppID:
		return app.Trade{}, forged("it is for the app %q", form.Get("app_id"))
	case a.options.SellerID != "" && form.Get("seller_id") != a.options.SellerID:
		return app.Trade{}, forged("it is for the seller %q", form.Get("seller_id"))
	case form.Has("charset") && !strings.EqualFold(form.Get("charset"), "utf-8"):
		return app.Trade{}, forged("its charset is %q", form.Get("charset"))
	}
	if err := rsa2.VerifyNotification(a.public, form); err != nil {
		return app.Trade{}, forged("%v", err)
	}
	return a.noted(form)
}

// noted reads what a verified notification says. What the gateway signed and we cannot read is not forged, but it is not
// understood either: the error is answered `failure`, and the gateway sends it again.
func (a *Alipay) noted(form url.Values) (app.Trade, error) {
	id, err := app.ParseID(form.Get("out_trade_no"))
	if err != nil {
		return app.Trade{}, fmt.Errorf("notification about out_trade_no: %w", err)
	}
	state, known := states[form.Get("trade_status")]
	amount, wrong := app.ParseFen(form.Get("total_amount"))
	if !known || wrong != nil || form.Get("trade_no") == "" {
		return app.Trade{}, fmt.Errorf("notification about order %v: trade_no %q, trade_status %q, total_amount %q make no sense",
			id, form.Get("trade_no"), form.Get("trade_status"), form.Get("total_amount"))
	}
	t := app.Trade{Order: id, No: form.Get("trade_no"), State: state, AmountFen: amount, PaidAt: a.instant(form.Get("gmt_payment"))}
	if text := form.Get("refund_fee"); text != "" {
		if t.RefundedFen, err = app.ParseFen(text); err != nil {
			return app.Trade{}, fmt.Errorf("notification about order %v: refund_fee: %w", id, err)
		}
	}
	return t, nil
}

// knows tells whether a text may name that certificate as its signer's. The gateway may leave the name out; in public-key
// mode there is none that could be right. Either way only our own copy of the gateway's key verifies.
func (a *Alipay) knows(certSN string) bool { return certSN == "" || certSN == a.certSN }

func forged(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, app.ErrForged)...)
}
