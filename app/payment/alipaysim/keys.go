package alipaysim

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"stampede/app/payment/rsa2"
)

// Keys are the agreement between shop and gateway, made anew for each simulator.
type Keys struct {
	AppID    string
	SellerID string
	App      *rsa.PrivateKey // the shop's
	Gateway  *rsa.PrivateKey
	stranger *rsa.PrivateKey // belongs to neither; forges
}

// The shop in the simulator's books. Real ids look like this.
const (
	simAppID    = "2021000000000001"
	simSellerID = "2088000000000001"
	otherAppID  = "2021000000000002"
)

// NewKeys makes three key pairs; it takes some tenths of a second.
func NewKeys() (*Keys, error) {
	k := &Keys{AppID: simAppID, SellerID: simSellerID}
	for _, key := range []**rsa.PrivateKey{&k.App, &k.Gateway, &k.stranger} {
		var err error
		if *key, err = rsa.GenerateKey(rand.Reader, rsa2.MinBits); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
	}
	return k, nil
}

// AppPrivatePEM is what the shop signs with (STAMPEDE_ALIPAY_PRIVATE_KEY).
func (k *Keys) AppPrivatePEM() (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.App)
	return toPEM("PRIVATE KEY", der), err
}

// GatewayPublicPEM is what the shop verifies with (STAMPEDE_ALIPAY_PUBLIC_KEY).
func (k *Keys) GatewayPublicPEM() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.Gateway.PublicKey)
	return toPEM("PUBLIC KEY", der), err
}

func toPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
