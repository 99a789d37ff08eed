package server

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"stampede/app/alipay"
	"stampede/app/payment"
)

// keyVariables name the variable of each key that the adapter reads.
var keyVariables = map[string]string{
	"PrivateKey": "ALIPAY_PRIVATE_KEY", "PublicKey": "ALIPAY_PUBLIC_KEY",
	"AppCert": "ALIPAY_APP_CERT", "Cert": "ALIPAY_CERT", "RootCert": "ALIPAY_ROOT_CERT",
}

// gateway makes the payment gateway of the configuration; nil when nothing can be paid.
func (c *Config) gateway() (payment.Gateway, error) {
	if c.AlipayAppID == "" {
		return nil, nil
	}
	return alipay.New(alipay.Options{
		Gateway: c.AlipayGateway, AppID: c.AlipayAppID, SellerID: c.AlipaySellerID,
		PrivateKey: string(c.AlipayPrivateKey), PublicKey: string(c.AlipayPublicKey),
		AppCert: string(c.AlipayAppCert), Cert: string(c.AlipayCert), RootCert: string(c.AlipayRootCert),
		NotifyURL: c.AlipayNotifyURL, ReturnURL: c.AlipayReturnURL, Timeout: c.AlipayTimeout,
	})
}

// atHome completes the addresses under which this node can be reached: by mails whose readers sit at this machine, if
// nothing else is said, and by a simulated gateway, which is near.
func (c *Config) atHome(local string) {
	if c.PublicURL == "" {
		c.PublicURL = "http://" + local
	}
	if !c.AlipaySimulator {
		return
	}
	if c.AlipayNotifyURL == "" {
		c.AlipayNotifyURL = "http://" + local + "/api/v1/payments/alipay/notify"
	}
	if c.AlipayReturnURL == "" {
		c.AlipayReturnURL = "http://" + local + "/"
	}
}

// checkAlipay reads the keys, so that a wrong one ends the start with its variable's name, and keeps real money and
// simulators apart: an address that is not Alipay's own is used only when it is said to be a simulator.
func (c *Config) checkAlipay(p *problems) {
	if c.AlipayAppID == "" {
		c.checkNoAlipay(p)
		return
	}
	p.check("ALIPAY_GATEWAY", checkURL(c.AlipayGateway, "https://openapi.alipay.com/gateway.do"))
	p.check("ALIPAY_NOTIFY_URL", checkURL(c.AlipayNotifyURL, "https://shop.example/api/v1/payments/alipay/notify"))
	p.check("ALIPAY_RETURN_URL", checkURL(c.AlipayReturnURL, "https://shop.example/"))
	p.within("ALIPAY_QUERY_RATE", int64(c.AlipayQueryRate), 1, 100_000)
	p.lasts("ALIPAY_TIMEOUT", c.AlipayTimeout, 100*time.Millisecond, time.Minute)
	switch real := alipay.IsReal(c.AlipayGateway); {
	case !real && !c.AlipaySimulator:
		p.add("ALIPAY_GATEWAY",
			"is "+quote(c.AlipayGateway)+", which is not Alipay's: if a simulator is meant, say so with STAMPEDE_ALIPAY_SIMULATOR=true")
	case real && c.AlipaySimulator:
		p.add("ALIPAY_SIMULATOR", "is true, but STAMPEDE_ALIPAY_GATEWAY is Alipay's own: real money would move")
	}
	if c.AlipayPrivateKey == "" {
		p.add("ALIPAY_PRIVATE_KEY", "is not set: it signs what the shop asks of Alipay")
	}
	certificates := c.AlipayAppCert != "" || c.AlipayCert != "" || c.AlipayRootCert != ""
	switch {
	case c.AlipayPublicKey != "" && certificates:
		p.add("ALIPAY_PUBLIC_KEY", "is set together with certificates: set the key, or the three certificates")
		return
	case c.AlipayPublicKey == "" && !certificates:
		p.add("ALIPAY_PUBLIC_KEY",
			"is not set: set Alipay's public key, or all of STAMPEDE_ALIPAY_APP_CERT, _CERT and _ROOT_CERT")
		return
	}
	_, err := c.gateway()
	if wrong, ok := errors.AsType[*alipay.KeyError](err); ok {
		p.add(keyVariables[wrong.Option], "cannot be used: "+wrong.Err.Error())
	}
}

// Warnings names what is allowed and may all the same not be meant.
func (c *Config) Warnings() []Problem {
	p := problems{slices.Clone(c.Exposed)}
	c.warnMail(&p)
	if about, err := os.Stat(c.Data); err == nil && about.Mode()&0o007 != 0 {
		p.add("DATA", fmt.Sprintf("is a folder that everybody on this machine may open, %s has the mode %04o: chmod 0700",
			c.Data, about.Mode().Perm()))
	}
	if trivialSecret(string(c.JWTSecret)) {
		p.add("JWT_SECRET", "can be guessed: set random bytes, e.g. from `openssl rand -base64 48`")
	}
	for _, proxies := range c.Proxies {
		if proxies.Bits() < minProxyBits {
			p.add("TRUSTED_PROXIES", "has "+proxies.String()+", which lets clients choose the address that is counted: list the proxies only")
		}
	}
	p.check("MYSQL_DSN", warnMySQLTLS(c.MySQLDSN))
	p.check("MYSQL_REPLICA_DSN", warnMySQLTLS(c.MySQLReplica))
	if c.AlipayAppID == "" {
		return p.found
	}
	if c.AlipaySimulator {
		p.add("ALIPAY_SIMULATOR", "is true: payments go to a simulator, no real money moves")
	}
	if c.AlipayNotifyURL == "" && !c.AlipaySimulator {
		p.add("ALIPAY_NOTIFY_URL", "is not set: payments are found by asking the gateway, within a minute")
	}
	if c.AlipaySellerID == "" && !c.AlipaySimulator {
		p.add("ALIPAY_SELLER_ID", "is not set: a payment to another seller of the same app would be taken for one to this "+
			"shop; set the 2088… of the account that the money goes to")
	}
	return p.found
}

// minProxyBits is the prefix length of fc00::/7, the largest private network.
const minProxyBits = 7

// trivialSecret reports whether a secret is set and has few different characters, repeats a part, or contains a word of
// examples.
func trivialSecret(s string) bool {
	different := map[rune]bool{}
	for _, r := range s {
		different[r] = true
	}
	lower := strings.ToLower(s)
	return s != "" && (len(different) < 10 || strings.Contains((s + s)[1:2*len(s)-1], s) ||
		slices.ContainsFunc([]string{"0123456789", "password", "example", "change", "secret", "stampede", "for-tests", "qwerty"},
			func(word string) bool { return strings.Contains(lower, word) }))
}

// checkNoAlipay: settings that mean nothing without an app id point at a forgotten one.
func (c *Config) checkNoAlipay(p *problems) {
	set := c.AlipayPrivateKey + c.AlipayPublicKey + c.AlipayAppCert + c.AlipayCert + c.AlipayRootCert
	if set != "" || c.AlipaySellerID != "" || c.AlipayNotifyURL != "" || c.AlipaySimulator {
		p.add("ALIPAY_APP_ID", "is not set, but other STAMPEDE_ALIPAY_ variables are: set it too, or none of them")
	}
}

// checkURL accepts an absolute web address, or none.
func checkURL(address, like string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.ContainsAny(address, " \t") {
		return "is " + quote(address) + ": want a whole address like " + like
	}
	return ""
}
