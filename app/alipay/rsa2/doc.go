// Package rsa2 signs and verifies like Alipay's open gateway (sign_type RSA2: SHA-256 with RSA, PKCS #1 v1.5, base64)
// and parses its keys. The simulator uses it, independently of the library on the shop's side, so each side checks the
// other's signatures. Package alipay parses keys and certificates with it, because the library reports no error for
// invalid ones.
package rsa2
