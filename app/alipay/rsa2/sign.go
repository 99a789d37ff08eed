package rsa2

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// ErrSignature means that a signature is missing, unreadable or belongs to another text.
var ErrSignature = errors.New("the signature is wrong")

// Names of signature fields. The signed text omits them.
const (
	Sign     = "sign"
	SignType = "sign_type"
	CertSN   = "alipay_cert_sn"
)

// Canonical returns the text to sign: name=value pairs, not escaped, sorted, joined by &. It omits the fields named in
// without.
func Canonical(values url.Values, without ...string) string {
	var pairs []string
	for name, list := range values {
		if slices.Contains(without, name) {
			continue
		}
		for _, value := range list {
			pairs = append(pairs, name+"="+value)
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// SignText signs a text and returns the signature in base64.
func SignText(key *rsa.PrivateKey, text string) (string, error) {
	hash := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, hash[:])
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// VerifyText verifies the base64 signature of the text with the key. It returns nil or ErrSignature.
func VerifyText(key *rsa.PublicKey, text, signature string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || signature == "" {
		return ErrSignature
	}
	hash := sha256.Sum256([]byte(text))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, hash[:], raw) != nil {
		return ErrSignature
	}
	return nil
}

// SignRequest adds sign to the fields of a request. It signs all other fields, including sign_type.
func SignRequest(key *rsa.PrivateKey, values url.Values) error {
	signature, err := SignText(key, Canonical(values, Sign))
	if err == nil {
		values.Set(Sign, signature)
	}
	return err
}

// VerifyRequest verifies a signature of SignRequest.
func VerifyRequest(key *rsa.PublicKey, values url.Values) error {
	return VerifyText(key, Canonical(values, Sign), values.Get(Sign))
}

// SignNotification adds sign to a notification. Unlike in a request, sign_type is not signed.
func SignNotification(key *rsa.PrivateKey, values url.Values) error {
	signature, err := SignText(key, Canonical(values, Sign, SignType, CertSN))
	if err == nil {
		values.Set(Sign, signature)
	}
	return err
}
