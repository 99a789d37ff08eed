package sim

import (
	"crypto/rand"
	"crypto/rsa"
	"net/url"

	"stampede/app/alipay/rsa2"
	"stampede/app/shop"
)

// notify sends the state of a trade to the shop, with the active faults.
func (s *Simulator) notify(t Trade) {
	if t.notifyURL == "" {
		return
	}
	if _, lost := s.faults.take(NotifyLose, t.Order, ""); lost {
		return
	}
	first := notification{target: t.notifyURL, form: s.signedNotification(&t)}
	if f, active := s.faults.take(NotifyDelay, t.Order, ""); active {
		first.delay = f.delay()
	}
	notifications := []notification{first}
	if _, active := s.faults.take(NotifyDuplicate, t.Order, ""); active {
		notifications = append(notifications, notification{target: first.target, form: first.form, once: true})
	}
	if t.Status == Success {
		if _, active := s.faults.take(NotifyReorder, t.Order, ""); active {
			for _, older := range []Status{Waiting, Closed} {
				stale := t
				stale.Status = older
				notifications = append(notifications,
					notification{target: first.target, form: s.signedNotification(&stale), once: true})
			}
		}
	}
	s.deliverer.send(notifications)
}

// signedNotification returns a signed notification, changed by the active faults.
func (s *Simulator) signedNotification(t *Trade) url.Values {
	f := url.Values{
		"notify_id": {rand.Text()}, "notify_type": {"trade_status_sync"}, "notify_time": {s.now().In(s.zone).Format(timeFormat)},
		"app_id": {s.keys.AppID}, "auth_app_id": {s.keys.AppID}, "seller_id": {s.keys.SellerID},
		"buyer_id": {"2088000000000009"}, "charset": {"utf-8"}, "version": {"1.0"}, "sign_type": {"RSA2"},
		"out_trade_no": {t.Order}, "trade_no": {t.No}, "trade_status": {string(t.Status)}, "subject": {t.Subject}, "body": {t.Body},
		"total_amount": {shop.FormatFen(t.AmountFen)}, "gmt_create": {t.CreatedAt.In(s.zone).Format(timeFormat)},
	}
	if t.Status != Waiting && t.TakenFen > 0 {
		f.Set("gmt_payment", t.PaidAt.In(s.zone).Format(timeFormat))
		f.Set("buyer_pay_amount", shop.FormatFen(t.TakenFen))
	}
	if t.RefundedFen > 0 {
		f.Set("refund_fee", shop.FormatFen(t.RefundedFen))
		f.Set("out_biz_no", t.Refunds[len(t.Refunds)-1].Request)
	}
	if _, active := s.faults.take(NotifyGBK, t.Order, ""); active {
		f.Set("charset", "GBK")
		f.Set("subject", gbkSubject)
	}
	if err := rsa2.SignNotification(s.applyFaults(f, t), f); err != nil {
		panic("sign a notification: " + err.Error()) // impossible: the key has the right size
	}
	return f
}

// gbkSubject is the text 秒杀 in GBK, which is not UTF-8.
const gbkSubject = "\xc3\xeb\xc9\xb1"

// applyFaults applies the active faults to a notification's content and returns the signing key.
func (s *Simulator) applyFaults(f url.Values, t *Trade) *rsa.PrivateKey {
	if _, active := s.faults.take(NotifyAmount, t.Order, ""); active {
		f.Set("total_amount", shop.FormatFen(t.AmountFen+1))
	}
	if _, active := s.faults.take(NotifyApp, t.Order, ""); active {
		f.Set("app_id", otherAppID)
	}
	if _, active := s.faults.take(NotifyCert, t.Order, ""); active {
		f.Set(rsa2.CertSN, "00000000000000000000000000000000")
	}
	if _, active := s.faults.take(NotifySignature, t.Order, ""); active {
		return s.keys.foreignKey
	}
	return s.keys.Gateway
}
