package load

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// forgedRate is the number of forged notifications per second.
const forgedRate = 1000.0

// Responses of the server to a notification: accepted, rejected, and the status of a server without a gateway.
const acceptedResponse, rejectedResponse, notFoundStatus = "200 success", "200 failure", "404"

// forged measures reservations in alternating windows with and without a flood of forged payment notifications.
func (b *bench) forged(ctx context.Context, r *Result) error {
	if b.shop.AlipayAppID == "" {
		return errors.New("forged notifications need the STAMPEDE_ALIPAY_APP_ID of the server, and it is not set here")
	}
	request := forgedNotification(b.Address, b.shop.AlipayAppID, b.shop.AlipaySellerID)
	all, seconds, err := b.underFlood(ctx, r, forgedRate, func(int) []byte { return request })
	if err == nil {
		r.recordForged(all, seconds)
	}
	return err
}

// recordForged records the responses to forged notifications. An accepted notification fails the run.
func (r *Result) recordForged(all *flood, seconds float64) {
	r.setFigure("forged_sent_per_second", float64(all.sent)/seconds)
	r.setFigure("forged_answered_failure_per_second", float64(all.responses[rejectedResponse])/seconds)
	if n := all.responses[acceptedResponse]; n > 0 {
		r.fail(fmt.Sprintf("%d forged notifications were accepted", n))
	}
	for response, n := range all.responses {
		switch {
		case strings.HasPrefix(response, notFoundStatus):
			r.fail(fmt.Sprintf("%d notifications got 404: the server has no gateway (STAMPEDE_ALIPAY_APP_ID)", n))
		case response != acceptedResponse && response != rejectedResponse:
			r.fail(fmt.Sprintf("%d notifications got %.60q", n, response))
		}
	}
}

// forgedNotification returns a notification request that is valid except for its signature. The signature has the
// length of a 2048-bit key and is below the modulus of the key, so that the server must compute the verification.
func forgedNotification(host, appID, sellerID string) []byte {
	form := url.Values{
		"app_id": {appID}, "auth_app_id": {appID}, "charset": {"utf-8"}, "version": {"1.0"}, "sign_type": {"RSA2"},
		"notify_type": {"trade_status_sync"}, "notify_id": {"2026112100222120000000000000000001"},
		"notify_time": {"2026-11-21 12:00:05"}, "gmt_create": {"2026-11-21 11:59:50"}, "gmt_payment": {"2026-11-21 12:00:04"},
		"out_trade_no": {"7290000000000000001"}, "trade_no": {"2026112122001400000000000001"}, "subject": {"Flash sale order"},
		"trade_status": {"TRADE_SUCCESS"}, "total_amount": {"199.00"}, "receipt_amount": {"199.00"}, "point_amount": {"0.00"},
		"buyer_pay_amount": {"199.00"}, "invoice_amount": {"199.00"}, "buyer_id": {"2088000000000002"},
		"fund_bill_list": {`[{"amount":"199.00","fundChannel":"ALIPAYACCOUNT"}]`},
		"sign":           {base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0x2a}, 256))},
	}
	if sellerID != "" {
		form.Set("seller_id", sellerID)
	}
	body := form.Encode()
	return []byte("POST /api/v1/payments/alipay/notify HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: Mozilla/4.0\r\n" +
		"Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}
