package alipay

import (
	"context"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// maxSubject is the maximum length of a subject at the gateway, in characters.
const maxSubject = 256

// products maps each payment method to its Alipay product.
var products = map[payment.PayVia]string{
	payment.ViaPage: "FAST_INSTANT_TRADE_PAY",
	payment.ViaWap:  "QUICK_WAP_WAY",
	payment.ViaApp:  "QUICK_MSECURITY_PAY",
	payment.ViaQR:   "FACE_TO_FACE_PAYMENT",
}

// Pay returns the address or the text with which the buyer pays. Page, wap and app payments are signed without a call;
// a QR payment calls the gateway. The gateway has a resolution of one second, so the expiry is rounded down and is
// never later than requested.
func (a *Alipay) Pay(ctx context.Context, r payment.PayRequest) (payment.Payment, error) {
	trade := alipay.Trade{
		NotifyURL: a.options.NotifyURL, ReturnURL: a.options.ReturnURL,
		OutTradeNo: r.Order.String(), TotalAmount: shop.FormatFen(r.AmountFen), Subject: cleanSubject(r.Subject),
		Body: r.Mark.String(), ProductCode: products[r.Via],
		TimeExpire: formatTime(r.ExpiresAt),
	}
	switch r.Via {
	case payment.ViaPage:
		return a.pageURL(alipay.TradePagePay{Trade: trade})
	case payment.ViaWap:
		// The field TimeExpire of TradeWapPay hides the field of Trade.
		return a.pageURL(alipay.TradeWapPay{Trade: trade, TimeExpire: trade.TimeExpire})
	case payment.ViaApp:
		text, err := a.client.EncodeParam(alipay.TradeAppPay{Trade: trade})
		return payment.Payment{OrderString: text}, err
	case payment.ViaQR:
		return a.precreate(ctx, alipay.TradePreCreate{Trade: trade})
	}
	return payment.Payment{}, fmt.Errorf("pay via %q: %w", r.Via, payment.ErrGatewayRefused)
}

// pageURL signs a gateway address for the buyer's browser.
func (a *Alipay) pageURL(request alipay.Param) (payment.Payment, error) {
	address, err := a.client.BuildURL(request)
	if err != nil {
		return payment.Payment{}, fmt.Errorf("%s: %w", request.APIName(), err)
	}
	return payment.Payment{URL: address.String()}, nil
}

func (a *Alipay) precreate(ctx context.Context, request alipay.TradePreCreate) (payment.Payment, error) {
	var reply struct {
		head
		OutTradeNo string `json:"out_trade_no"`
		QRCode     string `json:"qr_code"`
	}
	if err := a.call(ctx, request, &reply); err != nil {
		return payment.Payment{}, err
	}
	if reply.OutTradeNo != request.OutTradeNo || reply.QRCode == "" {
		return payment.Payment{}, errUnknown(request.APIName(), fmt.Errorf("the reply is about %q", reply.OutTradeNo))
	}
	return payment.Payment{QR: reply.QRCode}, nil
}

// cleanSubject removes characters that the gateway rejects (/ = &) and limits the length.
func cleanSubject(s string) string {
	runes := make([]rune, 0, maxSubject)
	for _, r := range s {
		if len(runes) == maxSubject {
			break
		}
		switch r {
		case '/', '=', '&':
			r = ' '
		}
		runes = append(runes, r)
	}
	return string(runes)
}
