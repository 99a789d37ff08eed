package alipay_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"stampede/app/alipay"
	"stampede/app/payment"
	"stampede/app/test/kit"
)

// certificate returns a self-signed certificate.
func certificate(t *testing.T, name string, serial int64, key *rsa.PrivateKey) string {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{
			CommonName: name, Organization: []string{"Test"}, Country: []string{"CN"},
		},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	kit.Must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// In certificate mode, signed requests name the shop's certificate and the root certificates, and the gateway's
// certificate contains its key.
func TestCertificateModeSignsAndVerifies(t *testing.T) {
	t.Parallel()
	keys, err := sharedKeys()
	kit.Must(t, err)
	c := newTestSetup(t, func(o *alipay.Options) {
		o.PublicKey = ""
		o.AppCert, o.Cert = certificate(t, "shop", 1, keys.App), certificate(t, "gateway", 2, keys.Gateway)
		o.RootCert = certificate(t, "root", 3, keys.Gateway)
	})
	p, err := c.Pay(t.Context(), request(1, payment.ViaPage))
	kit.Must(t, err)
	address, err := url.Parse(p.URL)
	kit.Must(t, err)
	signed := address.Query()
	if len(signed.Get("app_cert_sn")) != 32 || len(signed.Get("alipay_root_cert_sn")) != 32 {
		t.Errorf("got the request %v, want serial numbers of 32 digits", signed)
	}
	c.pay(t, 1, payment.ViaPage)
	kit.Must(t, c.sim.Pay("1"))
	if got := c.query(t, 1); got.State != payment.TradePaid {
		t.Errorf("got %+v, want %v", got, payment.TradePaid)
	}
	form := c.notifications(t, 1)[0]
	if _, err := c.VerifyNotification(form); err != nil {
		t.Errorf("notification: got %v, want no error", err)
	}
	form.Set("alipay_cert_sn", strings.Repeat("0", 32))
	if _, err := c.VerifyNotification(form); !errors.Is(err, payment.ErrForged) {
		t.Errorf("an unknown certificate: got %v, want forged", err)
	}
}

// The shop's own public key in the place of the gateway's would make every notification count as forged.
func TestOwnPublicKeyIsRejected(t *testing.T) {
	t.Parallel()
	keys, err := sharedKeys()
	kit.Must(t, err)
	private, _, err := keys.PEM()
	kit.Must(t, err)
	own, err := x509.MarshalPKIXPublicKey(&keys.App.PublicKey)
	kit.Must(t, err)
	ownCertificate := certificate(t, "shop", 1, keys.App)
	for option, o := range map[string]alipay.Options{
		"PublicKey": {PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: own}))},
		"Cert":      {AppCert: ownCertificate, Cert: ownCertificate, RootCert: certificate(t, "root", 3, keys.Gateway)},
	} {
		o.PrivateKey = private
		_, err := alipay.New(o)
		var keyErr *alipay.KeyError
		if !errors.As(err, &keyErr) || keyErr.Option != option || !strings.Contains(err.Error(), "private key of the shop") {
			t.Errorf("%s: got %v, want a KeyError about the shop's own key", option, err)
		}
	}
}

// New rejects invalid keys and names the option.
func TestInvalidKeyErrorNamesOption(t *testing.T) {
	t.Parallel()
	keys, err := sharedKeys()
	kit.Must(t, err)
	private, _, err := keys.PEM()
	kit.Must(t, err)
	good := alipay.Options{
		PrivateKey: private, AppCert: certificate(t, "shop", 1, keys.App), Cert: certificate(t, "gateway", 2,
			keys.Gateway),
		RootCert: certificate(t, "root", 3, keys.Gateway),
	}
	kit.Must(t, errOf(alipay.New(good)))
	for option, change := range map[string]func(*alipay.Options){
		"PrivateKey": func(o *alipay.Options) { o.PrivateKey = "nonsense" },
		"PublicKey":  func(o *alipay.Options) { o.PublicKey = "nonsense" },
		"AppCert":    func(o *alipay.Options) { o.AppCert = o.Cert },
		"Cert":       func(o *alipay.Options) { o.Cert = "" },
		"RootCert":   func(o *alipay.Options) { o.RootCert = "" },
	} {
		o := good
		change(&o)
		_, err := alipay.New(o)
		var keyErr *alipay.KeyError
		if !errors.As(err, &keyErr) || keyErr.Option != option {
			t.Errorf("%s: got %v, want a KeyError for this option", option, err)
		}
	}
}
