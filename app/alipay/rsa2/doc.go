// Package rsa2 signs and verifies the way Alipay's open gateway does (sign_type RSA2: SHA-256 with RSA, PKCS #1 v1.5,
// base64), and reads its keys. The simulator speaks with it, independently of the library on the shop's side, so that
// each checks the other's signatures; package alipay reads and names keys and certificates with it, because the library
// says nothing about wrong ones.
package rsa2
