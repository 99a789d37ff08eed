package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"stampede/app/alipay"
	"stampede/app/limits"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// money holds the jobs for opened payments. Its fields are nil if the shop takes no payments.
type money struct {
	closer     *payment.TradeCloser
	reconciler *payment.PayReconciler
	listing    *payment.ListingJob
}

// composeMoney connects the payment flow. The expirer leaves orders with an opened payment to the trade closer.
func (p *parts) composeMoney(c *Config, registry *prometheus.Registry) {
	payments := &payment.PaymentService{
		Gateway: p.gateway, ShopID: p.stores.shopID, Stock: p.inventory.Stock(), Waiting: p.inventory.Queue().Waiting,
		Trades:  p.stores.db.Payments(),
		Refunds: p.stores.db.Refunds(),
		Orders:  p.stores.db.Orders(), Lost: p.stores.db.LostOrders(),
		Sale: p.stores.db.Sales().Sale, Effects: p.effects,
		Margin:  shop.PayMargin(c.PayWindow),
		MayCall: func(user shop.ID) error { return p.limits.Take(limits.QR, user, netip.Addr{}) },
	}
	p.services.payments = payments
	p.services.reconciliation = &payment.DailyReconciliation{
		Trades: p.stores.db.Payments(), Orders: p.stores.db.Orders(), Gateway: p.gateway, Zone: c.TimeZone.Location,
	}
	p.services.listing = &payment.Listing{
		Payments: payments, Daily: p.services.reconciliation, Window: c.PayWindow, Lag: payment.ListLag,
		Zone: alipay.Zone,
	}
	if !payments.TakesPayments() {
		return
	}
	p.money = money{
		closer: payment.NewTradeCloser(payments), reconciler: newPayReconciler(payments, c.AlipayQueryRate),
		listing: &payment.ListingJob{Listing: p.services.listing, Store: p.stores.db.Differences()},
	}
	p.expirer.Closer = p.money.closer
	counts := payments.Counts()
	for _, c := range []struct {
		name, help string
		n          *atomic.Int64
	}{
		{"payments_opened", "Pay requests that returned a payment link or code.", &counts.Opened},
		{"payments_reported", "Reports of the gateway about paid trades, repeats included.", &counts.PaidTrades},
		{"payments_revived", "Ended orders that a late payment changed to paid.", &counts.Revived},
		{"payments_late_refunds", "Late payments that are refunded.", &counts.Refunded},
		{"payments_odd", "Paid trades that do not match their order: inspect them.", &counts.Anomalies},
		{"trades_closed", "Orders ended after the gateway had closed their trade.", &counts.Closed},
		{"trades_unanswered", "Close requests without a response of the gateway.", &counts.Unknown},
	} {
		counter(registry, "stampede_"+c.name+"_total", c.help, c.n.Load)
	}
	counter(registry, "stampede_payment_queries_total",
		"Queries of this node about opened payments without a final result.", p.money.reconciler.Queries)
	gauge(registry, "stampede_payment_queries_overdue_seconds",
		"Time since the most overdue payment query was due. Above 25, a payment with a lost notification may be found after more than a minute.",
		func() float64 { return p.money.reconciler.Overdue().Seconds() })
	gauge(registry, "stampede_trades_waiting",
		"Orders past their deadline that this node cannot end before the gateway's response.", p.money.closer.Waiting)
}

// fullQueryRate is the lowest rate, in queries per second, for which the default of PayReconciler.MaxQueries is
// suitable. At a lower rate, MaxQueries queries take longer than ten seconds.
const fullQueryRate = 25

// newPayReconciler returns the job that queries the gateway about open payments, at most perSecond times a second.
func newPayReconciler(payments *payment.PaymentService, perSecond int) *payment.PayReconciler {
	reconciler := &payment.PayReconciler{
		Payments: payments, Pace: rate.NewLimiter(rate.Limit(perSecond), max(1, perSecond/10)).Wait,
	}
	if perSecond < fullQueryRate {
		reconciler.MaxQueries = max(1, perSecond*5)
	}
	return reconciler
}

// start starts the payment jobs on nodes with the role sweeper.
func (m *money) start(d *jobs, c *Config) {
	if c.Roles.Sweeper && m.closer != nil {
		d.start("trade closer", m.closer.Run)
		d.start("payment reconciler", m.reconciler.Run)
		d.start("payment lists", m.listing.Run)
	}
}

// keyVariables maps the key options of the adapter to their variables.
var keyVariables = map[string]string{
	"PrivateKey": "ALIPAY_PRIVATE_KEY", "PublicKey": "ALIPAY_PUBLIC_KEY",
	"AppCert": "ALIPAY_APP_CERT", "Cert": "ALIPAY_CERT", "RootCert": "ALIPAY_ROOT_CERT",
}

// gateway returns the configured payment gateway; nil: the shop takes no payments.
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

// gatewayIdentity returns the configured account at the payment gateway.
func (c *Config) gatewayIdentity() payment.GatewayIdentity {
	if c.AlipayAppID == "" {
		return payment.GatewayIdentity{}
	}
	mode := "production"
	if c.AlipaySimulator {
		mode = "simulator"
	}
	return payment.GatewayIdentity{Name: "alipay", Mode: mode, App: c.AlipayAppID, Seller: c.AlipaySellerID}
}

// requireGateway returns an error if the shop takes payments and this process has not the shop's gateway: a reply
// of another account proves nothing, and a paid order could expire.
func (c *Config) requireGateway(ctx context.Context, db *store.Store) error {
	stored, err := db.Settings().Gateway(ctx)
	own := c.gatewayIdentity()
	switch {
	case err != nil || stored.Name == "" || own.Same(stored):
		return err
	case own.Name == "":
		return fmt.Errorf("the shop takes payments (%s), and STAMPEDE_ALIPAY_APP_ID is not set: a paid order could expire; "+
			"set STAMPEDE_ALIPAY_APP_ID, STAMPEDE_ALIPAY_PRIVATE_KEY and STAMPEDE_ALIPAY_PUBLIC_KEY (or "+
			"STAMPEDE_ALIPAY_APP_CERT, _CERT and _ROOT_CERT) as on the other nodes of this shop", stored)
	}
	return fmt.Errorf("the shop takes payments by another account (%s) than STAMPEDE_ALIPAY_APP_ID, _SELLER_ID and "+
		"_SIMULATOR of this process (%s): set them as on the other nodes of this shop; or change the gateway of the shop "+
		"with stampede pay gateway --change", stored, own)
}

// requireNodeGateway is requireGateway for a node. The first node with a gateway makes it the gateway of the shop. A
// node with the role api only starts with another gateway or none, and then takes no payments.
func (c *Config) requireNodeGateway(ctx context.Context, db *store.Store) error {
	if own := c.gatewayIdentity(); own.Name != "" {
		if _, err := db.Settings().EnsureGateway(ctx, own); err != nil {
			return err
		}
	}
	err := c.requireGateway(ctx, db)
	switch {
	case err == nil:
		return nil
	case c.Roles.Worker || c.Roles.Sweeper:
		return fmt.Errorf("%w; a node with STAMPEDE_ROLES=api starts without it", err)
	case errors.Is(err, shop.ErrTransient):
		return err
	}
	slog.ErrorContext(ctx, "this node takes no payments", "err", err)
	c.AlipayAppID = ""
	return nil
}

// setLocalAddresses sets missing addresses to the local address of this node: the links in e-mails, shared
// links and calendar files and, with a simulated gateway, the notification and return addresses. Only clients on this
// machine can use them.
func (c *Config) setLocalAddresses(local string) {
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

// checkAlipay parses the keys, so that an invalid key prevents the start and its variable is reported. It separates
// real payments from simulators: an address that is not Alipay's requires STAMPEDE_ALIPAY_SIMULATOR=true.
func (c *Config) checkAlipay(p *problems) {
	if c.AlipayAppID == "" {
		c.checkNoAlipay(p)
		return
	}
	p.check("ALIPAY_GATEWAY", checkURL(c.AlipayGateway, "https://openapi.alipay.com/gateway.do"))
	p.check("ALIPAY_NOTIFY_URL", checkURL(c.AlipayNotifyURL, "https://shop.example/api/v1/payments/alipay/notify"))
	p.check("ALIPAY_RETURN_URL", checkURL(c.AlipayReturnURL, "https://shop.example/"))
	p.checkRange("ALIPAY_QUERY_RATE", int64(c.AlipayQueryRate), 1, 100_000)
	p.checkDuration("ALIPAY_TIMEOUT", c.AlipayTimeout, 100*time.Millisecond, time.Minute)
	switch real := alipay.IsReal(c.AlipayGateway); {
	case !real && !c.AlipaySimulator:
		p.add("ALIPAY_GATEWAY",
			"is "+quote(c.AlipayGateway)+", which is not Alipay's: for a simulator, set STAMPEDE_ALIPAY_SIMULATOR=true")
	case real && c.AlipaySimulator:
		p.add("ALIPAY_SIMULATOR", "is true, but STAMPEDE_ALIPAY_GATEWAY is Alipay's own: real money would move")
	}
	if c.AlipayPrivateKey == "" {
		p.add("ALIPAY_PRIVATE_KEY", "is not set: it signs the requests of the shop to Alipay")
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
	if keyErr, ok := errors.AsType[*alipay.KeyError](err); ok {
		p.add(keyVariables[keyErr.Option], "cannot be used: "+keyErr.Err.Error())
	}
}

// Warnings lists settings that are valid but probably unintended.
func (c *Config) Warnings() []Problem {
	p := problems{slices.Clone(c.Exposed)}
	c.warnMail(&p)
	if info, err := os.Stat(c.Data); err == nil && info.Mode()&0o007 != 0 {
		p.add("DATA", fmt.Sprintf("is a folder that all users of this machine can open, %s has the mode %04o: run chmod 0700",
			c.Data, info.Mode().Perm()))
	}
	if trivialSecret(string(c.JWTSecret)) {
		p.add("JWT_SECRET", "can be guessed: set random bytes, e.g. from `openssl rand -base64 48`")
	}
	for _, proxies := range c.Proxies {
		if proxies.Bits() < minProxyBits {
			p.add("TRUSTED_PROXIES", "has "+proxies.String()+", which lets clients choose the address that is counted: list only the proxies")
		}
	}
	if c.Profiles && c.MetricsListen != "off" && !isLoopback(c.MetricsListen) {
		p.add("PROFILES", "is true, and STAMPEDE_METRICS_LISTEN is not on loopback: profiles show the memory of the node to "+
			"each client that reaches it")
	}
	p.check("MYSQL_DSN", warnMySQLTLS(c.MySQLDSN))
	p.check("MYSQL_REPLICA_DSN", warnMySQLTLS(c.MySQLReplica))
	if c.AlipayAppID == "" {
		if !c.Embedded() {
			p.add("ALIPAY_APP_ID", "is not set: the shop takes no payments")
		}
		return p.found
	}
	if c.AlipaySimulator {
		p.add("ALIPAY_SIMULATOR", "is true: payments go to a simulator, no real money moves")
	}
	if c.AlipayNotifyURL == "" && !c.AlipaySimulator {
		p.add("ALIPAY_NOTIFY_URL", "is not set: queries to the gateway find payments within a minute")
	}
	if c.AlipaySellerID == "" && !c.AlipaySimulator {
		p.add("ALIPAY_SELLER_ID", "is not set: a payment to another seller of the same app would count as a payment to this "+
			"shop; set the 2088… of the account that receives the money")
	}
	return p.found
}

// minProxyBits is the prefix length of fc00::/7, the largest private network.
const minProxyBits = 7

// trivialSecret reports whether the secret is set and easy to guess: it has fewer than 10 different characters,
// consists of a repeated part, or contains a typical word such as password.
func trivialSecret(s string) bool {
	characters := map[rune]bool{}
	for _, r := range s {
		characters[r] = true
	}
	lower := strings.ToLower(s)
	return s != "" && (len(characters) < 10 || strings.Contains((s + s)[1:2*len(s)-1], s) ||
		slices.ContainsFunc([]string{"0123456789", "password", "example", "change", "secret", "stampede", "for-tests", "qwerty"},
			func(word string) bool { return strings.Contains(lower, word) }))
}

// checkNoAlipay reports a missing app id if other Alipay settings are present.
func (c *Config) checkNoAlipay(p *problems) {
	set := c.AlipayPrivateKey + c.AlipayPublicKey + c.AlipayAppCert + c.AlipayCert + c.AlipayRootCert
	if set != "" || c.AlipaySellerID != "" || c.AlipayNotifyURL != "" || c.AlipaySimulator {
		p.add("ALIPAY_APP_ID", "is not set, but other STAMPEDE_ALIPAY_ variables are: set it too, or unset the others")
	}
}

// checkURL accepts an absolute http or https URL, or "". It returns an error message with the given example; "":
// valid.
func checkURL(address, example string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	switch {
	case strings.Contains(address, "@"): // the message must not show a password
		return "has a user or an @: want an address without them, for example " + example
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.ContainsAny(address, " \t"):
		return "is " + quote(address) + ": want a complete address, for example " + example
	}
	return ""
}

// Limits of the time after which a shipped order finishes.
const (
	minShipping = time.Hour
	maxShipping = 365 * 24 * time.Hour
)

// checkMoney validates the settings of refunds, shipping and the webhook.
func (c *Config) checkMoney(p *problems) {
	switch payment.RefundPolicy(c.RefundPolicy) {
	case payment.RefundAuto, payment.RefundByOperator:
	default:
		p.add("REFUND_POLICY", "is "+quote(c.RefundPolicy)+": want auto or operator")
	}
	if c.FinishAfter < minShipping || c.FinishAfter > maxShipping {
		p.add("FINISH_AFTER", "is "+c.FinishAfter.String()+": want 1h to 8760h (a year)")
	}
	p.check("WEBHOOK_URL", checkURL(c.WebhookURL, "https://office.example/stampede"))
	switch {
	case c.WebhookURL == "" && c.WebhookSecret != "":
		p.add("WEBHOOK_URL", "is not set, but STAMPEDE_WEBHOOK_SECRET is")
	case c.WebhookURL != "" && len(c.WebhookSecret) < minSecret:
		p.add("WEBHOOK_SECRET",
			"is missing or too short: it signs deliveries to STAMPEDE_WEBHOOK_URL and needs at least 32 random bytes")
	}
}
