package alipay

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stampede/app/payment"

	"github.com/smartwalle/alipay/v3"
	"github.com/sony/gobreaker/v2"
)

// Production is the address of the production gateway.
const Production = "https://openapi.alipay.com/gateway.do"

// Zone is the time zone of the gateway's times and bills. It has no summer time.
var Zone = time.FixedZone("Asia/Shanghai", 8*60*60)

// IsReal reports whether the host of the address belongs to Alipay, production or sandbox.
func IsReal(gateway string) bool {
	u, err := url.Parse(gateway)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range []string{"alipay.com", "alipaydev.com"} {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

const (
	// DefaultTimeout limits one call to the gateway.
	DefaultTimeout = 5 * time.Second
	fileTimeout    = time.Minute // limits the download of a bill
)

// Options contains the settings of the shop's account at Alipay. Keys are strings: PEM, or the plain base64 that
// Alipay's key tool writes.
type Options struct {
	Gateway    string // address; Production if empty
	AppID      string
	SellerID   string // 2088…; if set, notifications of other sellers are rejected
	PrivateKey string // the shop's private key

	// Public-key mode: the gateway's key. Certificate mode: three certificates, and no public key.
	PublicKey string
	AppCert   string // the shop's certificate
	Cert      string // the gateway's certificate
	RootCert  string // the bundle of root certificates

	NotifyURL string // target of notifications; empty: the gateway sends no notifications
	ReturnURL string // the page that the browser opens after a page or wap payment; empty: no page

	Timeout time.Duration // timeout of one call; 0: DefaultTimeout
}

// KeyError names the option that cannot be read.
type KeyError struct {
	Option string // name of the field in Options
	Err    error
}

func (e *KeyError) Error() string { return e.Option + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

// Alipay implements payment.Gateway. It is safe for concurrent use.
type Alipay struct {
	options Options
	client  *alipay.Client
	files   *http.Client // downloads bills
	breaker *gobreaker.CircuitBreaker[struct{}]
	certSN  string // serial number of the gateway's certificate; empty in public-key mode
}

var _ payment.Gateway = (*Alipay)(nil)

// New reads the keys and makes no call. A *KeyError names the first invalid key.
func New(o Options) (*Alipay, error) {
	o.Gateway, o.Timeout = cmp.Or(o.Gateway, Production), cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	a := &Alipay{options: o, breaker: newBreaker(), files: &http.Client{Timeout: fileTimeout}}
	if err := a.setUpClient(); err != nil {
		return nil, err
	}
	return a, nil
}

// CloseIdle closes idle connections. Calls in progress continue.
func (a *Alipay) CloseIdle() {
	a.client.Client.CloseIdleConnections()
	a.files.CloseIdleConnections()
}
