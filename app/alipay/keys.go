package alipay

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/alipay/rsa2"
)

// errOwnKey means that notifications of the gateway would count as forged.
var errOwnKey = errors.New("it belongs to the private key of the shop: set the key of Alipay, which the settings of " +
	"the app show after the upload of the shop's own public key")

// setUpClient creates the client of the library with the configured keys. The library silently accepts short keys, keys
// of other types and invalid certificates. So every key is parsed here first and passed on in one normal form.
func (a *Alipay) setUpClient() error {
	private, err := rsa2.ParsePrivateKey(a.options.PrivateKey)
	if err != nil {
		return &KeyError{"PrivateKey", err}
	}
	// The sandbox mode of the library is used also in production: in production mode the library fetches and trusts
	// every certificate that a message names. The modes differ only in this and in the address.
	a.client, err = alipay.New(
		a.options.AppID, base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(private)), false,
		alipay.WithSandboxGateway(a.options.Gateway), alipay.WithTimeLocation(Zone),
		alipay.WithHTTPClient(newHTTP(a.options.Timeout)),
	)
	if err != nil {
		return &KeyError{"PrivateKey", err}
	}
	if a.options.PublicKey == "" {
		return a.setUpCertificates(private)
	}
	public, err := rsa2.ParsePublicKey(a.options.PublicKey)
	if err != nil {
		return &KeyError{"PublicKey", err}
	}
	if public.Equal(&private.PublicKey) {
		return &KeyError{"PublicKey", errOwnKey}
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return &KeyError{"PublicKey", err}
	}
	return keyError("PublicKey", a.client.LoadAliPayPublicKey(base64.StdEncoding.EncodeToString(der)))
}

// setUpCertificates sets up certificate mode.
func (a *Alipay) setUpCertificates(private *rsa.PrivateKey) error {
	shopCert, err := rsa2.ParseCertificate(a.options.AppCert)
	if err != nil {
		return &KeyError{"AppCert", err}
	}
	if key, ok := shopCert.PublicKey.(*rsa.PublicKey); !ok || !key.Equal(&private.PublicKey) {
		return &KeyError{"AppCert", fmt.Errorf("the certificate does not belong to the private key")}
	}
	gatewayCert, err := rsa2.ParseCertificate(a.options.Cert)
	if err != nil {
		return &KeyError{"Cert", err}
	}
	switch key, ok := gatewayCert.PublicKey.(*rsa.PublicKey); {
	case !ok:
		return &KeyError{"Cert", fmt.Errorf("the certificate has a %T, and RSA2 needs an RSA key", gatewayCert.PublicKey)}
	case key.Equal(&private.PublicKey):
		return &KeyError{"Cert", errOwnKey}
	}
	if _, err := rsa2.RootSerialNumber(a.options.RootCert); err != nil {
		return &KeyError{"RootCert", err}
	}
	a.certSN = rsa2.SerialNumber(gatewayCert)
	if err := keyError("AppCert", a.client.LoadAppCertPublicKey(onlyPEM(a.options.AppCert))); err != nil {
		return err
	}
	if err := keyError("Cert", a.client.LoadAlipayCertPublicKey(onlyPEM(a.options.Cert))); err != nil {
		return err
	}
	return keyError("RootCert", a.client.LoadAliPayRootCert(onlyPEM(a.options.RootCert)))
}

// onlyPEM keeps the PEM blocks of a text and drops the text between them: otherwise the library skips the root
// certificate after such text, without an error.
func onlyPEM(text string) string {
	var blocks []byte
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return string(blocks)
		}
		blocks = append(blocks, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
}

// keyError wraps err in a *KeyError; nil stays nil.
func keyError(option string, err error) error {
	if err == nil {
		return nil
	}
	return &KeyError{option, err}
}
