package sim

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"stampede/app/alipay/rsa2"
)

// Keys contains the ids and keys of shop and gateway.
type Keys struct {
	AppID      string
	SellerID   string
	App        *rsa.PrivateKey // the shop's key
	Gateway    *rsa.PrivateKey
	foreignKey *rsa.PrivateKey // signs forgeries; it is neither the key of the shop nor of the gateway
}

// The ids of the simulated shop, in the format of real ids.
const (
	simAppID    = "2021000000000001"
	simSellerID = "2088000000000001"
	otherAppID  = "2021000000000002"
)

// NewKeys generates three key pairs; it takes some tenths of a second.
func NewKeys() (*Keys, error) {
	k := &Keys{AppID: simAppID, SellerID: simSellerID}
	for _, key := range []**rsa.PrivateKey{&k.App, &k.Gateway, &k.foreignKey} {
		var err error
		if *key, err = rsa.GenerateKey(rand.Reader, rsa2.MinBits); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
	}
	return k, nil
}

// Settings returns a server's environment for the gateway at base (http://host:port), without the keys.
func (k *Keys) Settings(base string) []string {
	return []string{
		"STAMPEDE_ALIPAY_SIMULATOR=true", "STAMPEDE_ALIPAY_GATEWAY=" + base + "/gateway.do",
		"STAMPEDE_ALIPAY_APP_ID=" + k.AppID, "STAMPEDE_ALIPAY_SELLER_ID=" + k.SellerID,
	}
}

// Environ returns the full environment, with the keys as text.
func (k *Keys) Environ(base string) ([]string, error) {
	private, public, err := k.PEM()
	return append(k.Settings(base), "STAMPEDE_ALIPAY_PRIVATE_KEY="+private, "STAMPEDE_ALIPAY_PUBLIC_KEY="+public), err
}

// PEM returns the shop's signing key (STAMPEDE_ALIPAY_PRIVATE_KEY) and its verification key
// (STAMPEDE_ALIPAY_PUBLIC_KEY).
func (k *Keys) PEM() (private, public string, err error) {
	app, err := x509.MarshalPKCS8PrivateKey(k.App)
	if err != nil {
		return "", "", err
	}
	gateway, err := x509.MarshalPKIXPublicKey(&k.Gateway.PublicKey)
	if err != nil {
		return "", "", err
	}
	return toPEM("PRIVATE KEY", app), toPEM("PUBLIC KEY", gateway), nil
}

func toPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
