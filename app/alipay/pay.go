package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app"
)

// maxSubject is how much the gateway takes, in characters.
const maxSubject = 256

// products are what the shop has agreed on with Alipay for each way to pay.
var products = map[app.PayVia]string{
	app.ViaPage: "FAST_INSTANT_TRADE_PAY",
	app.ViaWap:  "QUICK_WAP_WAY",
	app.ViaApp:  "QUICK_MSECURITY_PAY",
	app.ViaQR:   "FACE_TO_FACE_PAYMENT",
}

// Pay implements app.Gateway. The gateway counts in seconds, so the end is rounded down: it is never later than asked.
func (a *Alipay) Pay(ctx context.Context, r app.PayRequest) (app.Payment, error) {
	trade := alipay.Trade{
		NotifyURL: a.options.NotifyURL, ReturnURL: a.options.ReturnURL,
		OutTradeNo: r.Order.String(), TotalAmount: app.FormatFen(r.AmountFen), Subject: subject(r.Subject),
		ProductCode: products[r.Via], TimeExpire: r.ExpiresAt.Time().In(a.zone).Format(clock),
	}
	switch r.Via {
	case app.ViaPage:
		return a.page(alipay.TradePagePay{Trade: trade})
	case app.ViaWap:
		return a.page(alipay.TradeWapPay{Trade: trade, TimeExpire: trade.TimeExpire}) // its own field hides the trade's
	case app.ViaApp:
		text, err := a.client.EncodeParam(alipay.TradeAppPay{Trade: trade})
		return app.Payment{OrderString: text}, err
	case app.ViaQR:
		return a.precreate(ctx, alipay.TradePreCreate{Trade: trade})
	}
	return app.Payment{}, fmt.Errorf("pay via %q: %w", r.Via, app.ErrGatewayRefused)
}

// page signs an address of the gateway to which the buyer's browser goes.
func (a *Alipay) page(question alipay.Param) (app.Payment, error) {
	address, err := a.client.BuildURL(question)
	if err != nil {
		return app.Payment{}, fmt.Errorf("%s: %w", question.APIName(), err)
	}
	return app.Payment{URL: address.String()}, nil
}

func (a *Alipay) precreate(ctx context.Context, question alipay.TradePreCreate) (app.Payment, error) {
	var answer struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		QRCode     string `json:"qr_code"`
	}
	if err := a.call(ctx, question, &answer); err != nil {
		return app.Payment{}, err
	}
	if answer.OutTradeNo != question.OutTradeNo || answer.QRCode == "" {
		return app.Payment{}, unknown(question.APIName(), fmt.Errorf("the answer is about %q", answer.OutTradeNo))
	}
	return app.Payment{QR: answer.QRCode}, nil
}

// subject keeps what the gateway accepts: it refuses / = & and texts that are too long.
func subject(s string) string {
	kept := make([]rune, 0, maxSubject)
	for _, r := range s {
		if len(kept) == maxSubject {
			break
		}
		switch r {
		case '/', '=', '&':
			r = ' '
		}
		kept = append(kept, r)
	}
	return string(kept)
}
