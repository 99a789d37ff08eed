// Package rsa2 signs and verifies the way Alipay's open gateway does (sign_type RSA2: SHA-256 with RSA, PKCS #1 v1.5,
// base64). Both sides of the wire use it: the adapter in package payment and the simulator.
package rsa2
