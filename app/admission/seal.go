package admission

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"stampede/app/shop"
)

// seal authenticates a pass or a task. It is bound to its purpose, one user and one sale. The caller of verify must set
// these fields. Each node with the key can verify a seal.
//
//	kind 1 byte · issued 8 · until 8 · bits 1 · the first 16 bytes of an HMAC-SHA256 over these fields, sale,
//	user and binding
//
// A seal has 34 bytes and 46 characters. Its text, a colon and a nonce of up to eight digits fit in one SHA-256 block.
type seal struct {
	kind    byte
	sale    shop.ID
	user    shop.ID
	binding string // sent next to the seal: the picture ID of a captcha
	issued  shop.Millis
	until   shop.Millis // invalid from this instant on
	bits    byte        // difficulty of a proof of work
}

// The kinds also identify the version of the layout.
const (
	sealPass    = 0x11
	sealWork    = 0x12
	sealCaptcha = 0x13
)

const (
	sealBody = 18
	sealMAC  = 16
)

var sealEncoding = base64.RawURLEncoding.Strict() // strict, so that each seal has exactly one text form

func (s seal) body() []byte {
	b := append(make([]byte, 0, sealBody+sealMAC), s.kind)
	b = binary.BigEndian.AppendUint64(b, uint64(s.issued))
	b = binary.BigEndian.AppendUint64(b, uint64(s.until))
	return append(b, s.bits)
}

func (s seal) mac(key, body []byte) []byte {
	saleAndUser := binary.BigEndian.AppendUint64(nil, uint64(s.sale))
	saleAndUser = binary.BigEndian.AppendUint64(saleAndUser, uint64(s.user))
	h := hmac.New(sha256.New, key)
	h.Write(body)
	h.Write(saleAndUser)
	h.Write([]byte(s.binding))
	return h.Sum(nil)[:sealMAC]
}

// text returns the text form of the seal.
func (s seal) text(key []byte) string {
	body := s.body()
	return sealEncoding.EncodeToString(append(body, s.mac(key, body)...))
}

// verify decodes text as a seal with the kind, sale, user and binding of s. It returns false if the MAC does not match
// these values, or if the seal has expired.
func (s seal) verify(key []byte, text string, now shop.Millis) (seal, bool) {
	if len(text) != sealEncoding.EncodedLen(sealBody+sealMAC) {
		return seal{}, false
	}
	raw, err := sealEncoding.DecodeString(text)
	if err != nil || len(raw) != sealBody+sealMAC { // the decoder ignores line breaks, so the length may differ
		return seal{}, false
	}
	s.issued, s.until = shop.Millis(binary.BigEndian.Uint64(raw[1:])), shop.Millis(binary.BigEndian.Uint64(raw[9:]))
	s.bits = raw[sealBody-1]
	return s, raw[0] == s.kind && hmac.Equal(raw[sealBody:], s.mac(key, raw[:sealBody])) && now < s.until
}
