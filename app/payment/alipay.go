package payment

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stampede/app"
	"stampede/app/payment/rsa2"
)

// Addresses of the gateway itself.
const (
	Production = "https://openapi.alipay.com/gateway.do"
	Sandbox    = "https://openapi-sandbox.dl.alipaydev.com/gateway.do"
)

// IsReal tells whether an address is one of Alipay's own, production or sandbox. The host decides.
func IsReal(gateway string) bool {
	u, err := url.Parse(gateway)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, theirs := range []string{"alipay.com", "alipaydev.com"} {
		if host == theirs || strings.HasSuffix(host, "."+theirs) {
			return true
		}
	}
	return false
}

// DefaultTimeout bounds one call to the gateway.
const DefaultTimeout = 5 * time.Second

// Options are what a shop has agreed with Alipay. Keys are texts: PEM, or bare base64 as Alipay's key tool writes them.
type Options struct {
	Gateway    string // address; Production if empty
	AppID      string
	SellerID   string // 2088…; when set, notifications of other sellers are refused
	PrivateKey string // the shop's

	// Public-key mode: the gateway's key. Certificate mode: three certificates, and no public key.
	PublicKey string
	AppCert   string // the shop's
	Cert      string // the gateway's
	RootCert  string // the bundle of roots

	NotifyURL string // where the gateway sends notifications; empty: it sends none
	ReturnURL string // where the buyer comes back to from page and wap; empty: nowhere

	Timeout time.Duration // of one call; 0: DefaultTimeout
}

// KeyError names the option that cannot be read.
type KeyError struct {
	Option string // as in Options
	Err    error
}

func (e *KeyError) Error() string { return e.Option + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

// Alipay is the gateway as the flows see it. It is safe for concurrent use.
type Alipay struct {
	options Options
	zone    *time.Location
	now     func() time.Time
	client  *http.Client
	breaker *Breaker

	private *rsa.PrivateKey
	public  *rsa.PublicKey // the gateway's

	// Certificate mode only, all empty otherwise: how both sides name their certificates.
	appSN, certSN, rootSN string
}

var _ app.Gateway = (*Alipay)(nil)

// New reads the keys; a *KeyError names the first that is wrong. It contacts nobody.
func New(o Options) (*Alipay, error) {
	if o.Gateway == "" {
		o.Gateway = Production
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		return nil, fmt.Errorf("the gateway's time zone: %w", err)
	}
	a := &Alipay{options: o, zone: zone, now: time.Now, client: newClient(o.Timeout), breaker: NewBreaker()}
	if a.private, err = rsa2.ParsePrivateKey(o.PrivateKey); err != nil {
		return nil, &KeyError{"PrivateKey", err}
	}
	if o.PublicKey == "" {
		return a, a.readCertificates()
	}
	if a.public, err = rsa2.ParsePublicKey(o.PublicKey); err != nil {
		return nil, &KeyError{"PublicKey", err}
	}
	return a, nil
}

// readCertificates sets up certificate mode.
func (a *Alipay) readCertificates() error {
	appCert, err := rsa2.ParseCertificate(a.options.AppCert)
	if err != nil {
		return &KeyError{"AppCert", err}
	}
	if key, ok := appCert.PublicKey.(*rsa.PublicKey); !ok || !key.Equal(&a.private.PublicKey) {
		return &KeyError{"AppCert", fmt.Errorf("it does not belong to the private key")}
	}
	cert, err := rsa2.ParseCertificate(a.options.Cert)
	if err != nil {
		return &KeyError{"Cert", err}
	}
	public, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return &KeyError{"Cert", fmt.Errorf("it holds a %T, and RSA2 needs an RSA key", cert.PublicKey)}
	}
	if a.rootSN, err = rsa2.RootSerialNumber(a.options.RootCert); err != nil {
		return &KeyError{"RootCert", err}
	}
	a.public, a.appSN, a.certSN = public, rsa2.SerialNumber(appCert), rsa2.SerialNumber(cert)
	return nil
}

// newClient follows no redirects: the gateway answers where it is asked.
func newClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CloseIdle gives idle connections back. Calls under way go on.
func (a *Alipay) CloseIdle() { a.client.CloseIdleConnections() }
