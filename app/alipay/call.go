package alipay

import (
	"context"
	"fmt"
	"time"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/shop"
)

// timeFormat is the gateway's time format, in Asia/Shanghai.
const timeFormat = "2006-01-02 15:04:05"

// head has the common fields of every reply. The other fields are decoded into structs of this package: a struct of the
// library rejects a whole reply if a field that is not used here has an unexpected format.
type head struct{ alipay.Error }

func (h *head) result() *alipay.Error { return &h.Error }

// reply is implemented by the reply structs, because they embed head.
type reply interface{ result() *alipay.Error }

// call sends one request to the gateway and decodes its verified reply into out. A *businessError is a signed
// rejection. Every other error wraps shop.ErrTransient, because the gateway may have executed the call.
func (a *Alipay) call(ctx context.Context, request alipay.Param, out reply) error {
	_, err := a.breaker.Execute(func() (struct{}, error) { return struct{}{}, a.exchange(ctx, request, out) })
	if rejected(err) {
		return errUnknown(request.APIName(), fmt.Errorf("the gateway failed recently, so calls are paused: %w", err))
	}
	return err
}

// exchange is `call` without the breaker. The library returns no error for a signed rejection. If a reply has no valid
// signature, the result is unknown.
func (a *Alipay) exchange(ctx context.Context, request alipay.Param, out reply) error {
	if err := a.client.Request(ctx, request, out); err != nil {
		return errUnknown(request.APIName(), err)
	}
	if result := out.result(); result.Code != alipay.CodeSuccess { // IsSuccess also accepts a payment in progress
		return &businessError{request.APIName(), *result}
	}
	return nil
}

// errUnknown reports that the gateway may have executed the request (I6). The error is formatted here, because the
// library can return a nil pointer as an error: fmt can format it, but a call of its method Error panics.
func errUnknown(method string, err error) error {
	return fmt.Errorf("%s: %w: %w", method, err, shop.ErrTransient)
}

// formatTime formats a time for the gateway.
func formatTime(at shop.Millis) string { return at.Time().In(Zone).Format(timeFormat) }

// parseTime parses a time of the gateway. It returns 0 for an invalid time.
func parseTime(text string) shop.Millis {
	t, err := time.ParseInLocation(timeFormat, text, Zone)
	if err != nil {
		return 0
	}
	return shop.MillisOf(t)
}
