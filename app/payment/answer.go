package payment

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"stampede/app"
	"stampede/app/payment/rsa2"
)

// Codes of an answer.
const (
	codeDone   = "10000"
	codeRefuse = "40004" // the sub-code says why
)

// businessError is a no of the gateway under its signature.
type businessError struct {
	method, code, sub, text string
}

func (e *businessError) Error() string {
	return fmt.Sprintf("%s: the gateway answers %s %s: %s", e.method, e.code, e.sub, e.text)
}

// Unwrap: codes and sub-codes with which the gateway says that it could not decide now are a fault of the moment.
func (e *businessError) Unwrap() error {
	switch {
	case e.code == "20000", e.code == "40005", // not available; too many calls
		strings.HasSuffix(e.sub, "SYSTEM_ERROR"), strings.HasSuffix(e.sub, "SYSTEM-ERROR"),
		strings.HasSuffix(e.sub, "unknow-error"), strings.HasSuffix(e.sub, "call-limited"):
		return app.ErrMoment
	}
	return app.ErrGatewayRefused
}

// saysNo tells whether the error is the gateway's signed no with that sub-code.
func saysNo(err error, sub string) bool {
	var no *businessError
	return errors.As(err, &no) && no.code == codeRefuse && no.sub == sub
}

// answer verifies a body and reads it. A signature that is missing or wrong makes the whole answer unknown: whoever
// stands between may have written anything.
func (a *Alipay) answer(method string, body []byte, out any) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil {
		return unknown(method, errors.New("the answer is no JSON object"))
	}
	content := parts[strings.ReplaceAll(method, ".", "_")+"_response"]
	if content == nil {
		return unknown(method, fmt.Errorf("the gateway did not understand: %.200s", parts["error_response"]))
	}
	var signature, certSN string
	_ = json.Unmarshal(parts["sign"], &signature) // what is no text is no signature
	_ = json.Unmarshal(parts["alipay_cert_sn"], &certSN)
	if !a.knows(certSN) {
		return unknown(method, fmt.Errorf("the answer is signed with the certificate %q, this shop knows %q", certSN, a.certSN))
	}
	if err := rsa2.VerifyText(a.public, string(content), signature); err != nil {
		return unknown(method, fmt.Errorf("the answer %.200s: %w", content, err))
	}
	var head struct {
		Code    string `json:"code"`
		Msg     string `json:"msg"`
		SubCode string `json:"sub_code"`
		SubMsg  string `json:"sub_msg"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return unknown(method, err)
	}
	if head.Code != codeDone {
		return &businessError{method, head.Code, head.SubCode, head.Msg + ", " + head.SubMsg}
	}
	if err := json.Unmarshal(content, out); err != nil {
		return unknown(method, err)
	}
	return nil
}
