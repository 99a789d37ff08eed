package alipay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// businessError is a signed rejection by the gateway.
type businessError struct {
	method string
	reply  alipay.Error
}

func (e *businessError) Error() string {
	return fmt.Sprintf("%s: the gateway returned %s %s: %s, %s", e.method, e.reply.Code, e.reply.SubCode, e.reply.Msg, e.reply.SubMsg)
}

// Unwrap returns shop.ErrTransient for the codes and sub-codes of a temporary gateway failure.
func (e *businessError) Unwrap() error {
	switch {
	case e.reply.Code == alipay.CodeUnknowError, e.reply.Code == alipay.CodeCallLimited,
		strings.HasSuffix(e.reply.SubCode, "SYSTEM_ERROR"), strings.HasSuffix(e.reply.SubCode, "SYSTEM-ERROR"),
		strings.HasSuffix(e.reply.SubCode, "unknow-error"), strings.HasSuffix(e.reply.SubCode, "call-limited"):
		return shop.ErrTransient
	}
	return payment.ErrGatewayRefused
}

// isRejection reports whether the error is the gateway's signed rejection with that sub-code.
func isRejection(err error, sub string) bool {
	signed, ok := errors.AsType[*businessError](err)
	return ok && signed.reply.Code == alipay.CodeBusinessFailed && signed.reply.SubCode == sub
}
