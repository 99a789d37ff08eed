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
	no     alipay.Error
}

func (e *businessError) Error() string {
	return fmt.Sprintf("%s: the gateway returned %s %s: %s, %s", e.method, e.no.Code, e.no.SubCode, e.no.Msg, e.no.SubMsg)
}

// Unwrap returns shop.ErrTransient for the codes and sub-codes of a temporary gateway failure.
func (e *businessError) Unwrap() error {
	switch {
	case e.no.Code == alipay.CodeUnknowError, e.no.Code == alipay.CodeCallLimited,
		strings.HasSuffix(e.no.SubCode, "SYSTEM_ERROR"), strings.HasSuffix(e.no.SubCode, "SYSTEM-ERROR"),
		strings.HasSuffix(e.no.SubCode, "unknow-error"), strings.HasSuffix(e.no.SubCode, "call-limited"):
		return shop.ErrTransient
	}
	return payment.ErrGatewayRefused
}

// isRejection reports whether the error is the gateway's signed rejection with that sub-code.
func isRejection(err error, sub string) bool {
	signed, ok := errors.AsType[*businessError](err)
	return ok && signed.no.Code == alipay.CodeBusinessFailed && signed.no.SubCode == sub
}
