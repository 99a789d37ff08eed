package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
)

// payable are settings of a node that can be paid by Alipay: with keys that nobody else has, and a gateway that is not
// there. Nothing asks it for anything when a notification is forged.
func payable() ([]string, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	// the gateway's could be any: nobody here signs with it
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		return nil, err
	}
	return []string{
		"STAMPEDE_ALIPAY_SIMULATOR=true", "STAMPEDE_ALIPAY_GATEWAY=http://127.0.0.1:1/gateway.do",
		"STAMPEDE_ALIPAY_APP_ID=2021000000000001", "STAMPEDE_ALIPAY_SELLER_ID=2088000000000001",
		"STAMPEDE_ALIPAY_PRIVATE_KEY=" + base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(private)),
		"STAMPEDE_ALIPAY_PUBLIC_KEY=" + base64.StdEncoding.EncodeToString(public),
	}, nil
}
