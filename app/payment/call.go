package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stampede/app"
	"stampede/app/payment/rsa2"
)

const (
	clock = "2006-01-02 15:04:05" // how the gateway writes an instant, in Asia/Shanghai
	// maxAnswer bounds what is read of an answer; real ones are below 10 KB.
	maxAnswer = 1 << 20
)

// sign makes the fields of a request out of a method and its content.
func (a *Alipay) sign(method string, content any, urls bool) (url.Values, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	v := url.Values{
		"app_id": {a.options.AppID}, "method": {method}, "format": {"JSON"}, "charset": {"utf-8"},
		"sign_type": {"RSA2"}, "timestamp": {a.now().In(a.zone).Format(clock)}, "version": {"1.0"},
		"biz_content": {string(text)},
	}
	if a.appSN != "" {
		v.Set("app_cert_sn", a.appSN)
		v.Set("alipay_root_cert_sn", a.rootSN)
	}
	if urls && a.options.NotifyURL != "" {
		v.Set("notify_url", a.options.NotifyURL)
	}
	if urls && a.options.ReturnURL != "" {
		v.Set("return_url", a.options.ReturnURL)
	}
	if err := rsa2.SignRequest(a.private, v); err != nil {
		return nil, fmt.Errorf("sign %s: %w", method, err)
	}
	return v, nil
}

// call asks the gateway once and reads its verified answer into out. The error is nil when the gateway says that it did
// what was asked; a *businessError is its signed no; everything else wraps app.ErrMoment, because it may have been done.
func (a *Alipay) call(ctx context.Context, method string, content, out any) error {
	urls := method == "alipay.trade.precreate"
	fields, err := a.sign(method, content, urls)
	if err != nil {
		return err
	}
	if !a.breaker.Allow() {
		return fmt.Errorf("%s: the gateway did not answer lately and is left alone: %w", method, app.ErrMoment)
	}
	err = a.exchange(ctx, method, fields, out)
	a.breaker.Done(errors.Is(err, app.ErrMoment), errors.Is(ctx.Err(), context.Canceled))
	return err
}

func (a *Alipay) exchange(ctx context.Context, method string, fields url.Values, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.options.Gateway, strings.NewReader(fields.Encode()))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=utf-8")
	response, err := a.client.Do(request)
	if err != nil {
		return unknown(method, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return unknown(method, err)
	}
	if response.StatusCode != http.StatusOK {
		return unknown(method, fmt.Errorf("HTTP status %d", response.StatusCode))
	}
	return a.answer(method, body, out)
}

// unknown says that the gateway may have done what was asked (I6).
func unknown(method string, err error) error {
	return fmt.Errorf("%s: %w", method, errors.Join(err, app.ErrMoment))
}

// instant reads a time of the gateway; 0 for none.
func (a *Alipay) instant(text string) app.Millis {
	t, err := time.ParseInLocation(clock, text, a.zone)
	if err != nil {
		return 0
	}
	return app.MillisOf(t)
}
