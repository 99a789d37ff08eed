package alipay

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"stampede/app/payment"

	"github.com/smartwalle/alipay/v3"
	"github.com/sony/gobreaker/v2"
)

// Production is the address of the gateway itself.
const Production = "https://openapi.alipay.com/gateway.do"

// IsReal reports whether an address is one of Alipay's own, production or sandbox. The host decides.
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
	client  *alipay.Client
	breaker *gobreaker.CircuitBreaker[struct{}]
	certSN  string // how the gateway names its certificate; empty in public-key mode
}

var _ payment.Gateway = (*Alipay)(nil)

// New reads the keys; a *KeyError names the first that is wrong. It contacts nobody.
func New(o Options) (*Alipay, error) {
	o.Gateway, o.Timeout = cmp.Or(o.Gateway, Production), cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		return nil, fmt.Errorf("the gateway's time zone: %w", err)
	}
	a := &Alipay{options: o, zone: zone, breaker: newBreaker()}
	return a, a.readKeys()
}

// CloseIdle gives idle connections back. Calls under way go on.
func (a *Alipay) CloseIdle() { a.client.Client.CloseIdleConnections() }
