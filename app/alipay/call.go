package alipay

import (
	"context"
	"fmt"
	"time"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/shop"
)

// clock is how the gateway writes an instant, in Asia/Shanghai.
const clock = "2006-01-02 15:04:05"

// head begins every answer. The rest is read into our own structs: those of the library reject a whole answer for the
// form of a field that is not used here.
type head struct{ alipay.Error }

func (h *head) said() *alipay.Error { return &h.Error }

// answer is a struct that begins with head.
type answer interface{ said() *alipay.Error }

// call asks the gateway once and reads its verified answer into out. A *businessError is its signed no; every other
// error wraps shop.ErrTransient, because the call may have been done.
func (a *Alipay) call(ctx context.Context, question alipay.Param, out answer) error {
	_, err := a.breaker.Execute(func() (struct{}, error) { return struct{}{}, a.exchange(ctx, question, out) })
	if rejected(err) {
		return unknown(question.APIName(), fmt.Errorf("the gateway did not answer lately and is left alone: %w", err))
	}
	return err
}

// exchange is a call past the breaker. For the library a signed no is no error. An answer whose signature is missing or
// wrong is unknown.
func (a *Alipay) exchange(ctx context.Context, question alipay.Param, out answer) error {
	if err := a.client.Request(ctx, question, out); err != nil {
		return unknown(question.APIName(), err)
	}
	if said := out.said(); said.Code != alipay.CodeSuccess { // IsSuccess also takes a payment that is still under way
		return &businessError{question.APIName(), *said}
	}
	return nil
}

// unknown says that the gateway may have done what was asked (I6). The text is written here and now: the library has an
// error that is a nil pointer, which formatting survives and calling Error does not.
func unknown(method string, err error) error {
	return fmt.Errorf("%s: %w: %w", method, err, shop.ErrTransient)
}

// instant reads a time of the gateway; 0 for none.
func (a *Alipay) instant(text string) shop.Millis {
	t, err := time.ParseInLocation(clock, text, a.zone)
	if err != nil {
		return 0
	}
	return shop.MillisOf(t)
}
