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

// head has the common fields of every reply. The other fields are decoded into our own structs: those of the library
// reject a whole reply for the format of a field that is not used here.
type head struct{ alipay.Error }

func (h *head) result() *alipay.Error { return &h.Error }

// A reply struct embeds head.
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

// exchange makes a call without the breaker. The library returns no error for a signed rejection. A reply without a
// valid signature is unknown.
func (a *Alipay) exchange(ctx context.Context, request alipay.Param, out reply) error {
	if err := a.client.Request(ctx, request, out); err != nil {
		return errUnknown(request.APIName(), err)
	}
	if result := out.result(); result.Code != alipay.CodeSuccess { // IsSuccess also accepts a payment in progress
		return &businessError{request.APIName(), *result}
	}
	return nil
}

// errUnknown reports that the gateway may have executed the request (I6). The text is formatted here: the library
// returns an error that is a nil pointer; formatting works with it, but calling Error panics.
func errUnknown(method string, err error) error {
	return fmt.Errorf("%s: %w: %w", method, err, shop.ErrTransient)
}

// parseTime parses a time of the gateway; 0 if there is no valid time.
func (a *Alipay) parseTime(text string) shop.Millis {
	t, err := time.ParseInLocation(timeFormat, text, a.zone)
	if err != nil {
		return 0
	}
	return shop.MillisOf(t)
}
