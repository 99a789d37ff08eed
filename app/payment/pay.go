package payment

import (
	"context"
	"fmt"

	"stampede/app"
)

// order is the content of everything that opens a trade.
type order struct {
	OutTradeNo  string `json:"out_trade_no"`
	TotalAmount string `json:"total_amount"`
	Subject     string `json:"subject"`
	ProductCode string `json:"product_code"`
	TimeExpire  string `json:"time_expire"`
}

// maxSubject is how much the gateway takes, in characters.
const maxSubject = 256

// ways are the method and the product of each way to pay.
var ways = map[app.PayVia]struct{ method, product string }{
	app.ViaPage: {"alipay.trade.page.pay", "FAST_INSTANT_TRADE_PAY"},
	app.ViaWap:  {"alipay.trade.wap.pay", "QUICK_WAP_WAY"},
	app.ViaApp:  {"alipay.trade.app.pay", "QUICK_MSECURITY_PAY"},
	app.ViaQR:   {"alipay.trade.precreate", "FACE_TO_FACE_PAYMENT"},
}

// Pay implements app.Gateway. The gateway counts in seconds, so the end is rounded down: it is never later than asked.
func (a *Alipay) Pay(ctx context.Context, r app.PayRequest) (app.Payment, error) {
	way, ok := ways[r.Via]
	if !ok {
		return app.Payment{}, fmt.Errorf("pay via %q: %w", r.Via, app.ErrGatewayRefused)
	}
	o := order{
		OutTradeNo: r.Order.String(), TotalAmount: app.FormatFen(r.AmountFen), Subject: subject(r.Subject),
		ProductCode: way.product, TimeExpire: r.ExpiresAt.Time().In(a.zone).Format(clock),
	}
	if r.Via == app.ViaQR {
		return a.precreate(ctx, way.method, o)
	}
	fields, err := a.sign(way.method, o, true)
	if err != nil {
		return app.Payment{}, err
	}
	if r.Via == app.ViaApp {
		return app.Payment{OrderString: fields.Encode()}, nil
	}
	return app.Payment{URL: a.options.Gateway + "?" + fields.Encode()}, nil
}

func (a *Alipay) precreate(ctx context.Context, method string, o order) (app.Payment, error) {
	var answer struct {
		OutTradeNo string `json:"out_trade_no"`
		QRCode     string `json:"qr_code"`
	}
	if err := a.call(ctx, method, o, &answer); err != nil {
		return app.Payment{}, err
	}
	if answer.OutTradeNo != o.OutTradeNo || answer.QRCode == "" {
		return app.Payment{}, unknown(method, fmt.Errorf("the answer is about %q", answer.OutTradeNo))
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
