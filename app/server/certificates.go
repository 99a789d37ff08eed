package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/alipay/rsa2"
	"stampede/app/shop"
)

const (
	// certificateWarning is how long before its end a certificate raises an alarm.
	certificateWarning = 14 * 24 * time.Hour
	certificateEvery   = time.Hour
	dialTimeout        = 10 * time.Second
)

// certificates watches the ends of the shop's certificates: the one of the public page, which a proxy usually serves,
// and those for Alipay.
type certificates struct {
	public              url.URL
	page, appCert, cert certificate
}

// certificate is a watched certificate.
type certificate struct {
	name string
	end  atomic.Int64 // Unix seconds; 0: unknown, or not configured
}

// compose reads the certificates for Alipay and exports the ends of all.
func (w *certificates) compose(c *Config, registry *prometheus.Registry) {
	w.public = c.publicOrigin()
	w.page.name = "certificate of " + w.public.String()
	w.appCert.name, w.cert.name = "certificate in STAMPEDE_ALIPAY_APP_CERT", "certificate in STAMPEDE_ALIPAY_CERT"
	w.appCert.read(c.AlipayAppCert)
	w.cert.read(c.AlipayCert)
	for label, watched := range map[string]*certificate{"page": &w.page, "alipay_app": &w.appCert, "alipay": &w.cert} {
		gauge(registry, "stampede_certificate_end_timestamp_seconds",
			"End of a certificate of the shop, in Unix seconds; 0: unknown. Nodes with the role sweeper read the one of the page.",
			watched.end.Load, "certificate", label)
	}
}

// read reads the end of a certificate in the configuration, which was validated; "" is not read.
func (c *certificate) read(text Secret) {
	if parsed, err := rsa2.ParseCertificate(string(text)); err == nil {
		c.end.Store(parsed.NotAfter.Unix())
	}
}

// run reads the certificate of the public page once an hour. It is read and not verified: the alarm is about its end,
// and a private authority is allowed.
func (w *certificates) run(ctx context.Context) error {
	if w.public.Scheme != "https" {
		<-ctx.Done()
		return ctx.Err()
	}
	address := net.JoinHostPort(w.public.Hostname(), cmp.Or(w.public.Port(), "443"))
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: dialTimeout},
		Config:    &tls.Config{InsecureSkipVerify: true, ServerName: w.public.Hostname()},
	}
	return shop.Repeat(ctx, certificateEvery, "read the certificate of the page", func(ctx context.Context) error {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		w.page.end.Store(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].NotAfter.Unix())
		return nil
	})
}

// ending describes a certificate that ends soon or has ended; "": none.
func (w *certificates) ending(now time.Time) string {
	for _, watched := range []*certificate{&w.page, &w.appCert, &w.cert} {
		end := watched.end.Load()
		if at := time.Unix(end, 0); end != 0 && at.Sub(now) < certificateWarning {
			return fmt.Sprintf("The %s ends on %s", watched.name, at.UTC().Format(time.DateOnly))
		}
	}
	return ""
}
