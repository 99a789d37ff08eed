package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/test/kit"
)

// certificateUntil returns a self-signed certificate for loopback.
func certificateUntil(t *testing.T, end time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	kit.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: end.Add(-90 * 24 * time.Hour), NotAfter: end,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	kit.Must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A certificate of the page or for Alipay is reported 14 days before its end, and after it.
func TestCertificateThatEndsSoonIsReported(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]bool{13: true, 15: false, -1: true} {
		end := time.Now().Add(time.Duration(days) * 24 * time.Hour)
		served := certificateUntil(t, end)
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{served}})
		kit.Must(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_ = errors.Join(conn.(*tls.Conn).Handshake(), conn.Close())
			}
		}()
		var page, alipay certificates
		page.compose(&Config{PublicURL: "https://" + listener.Addr().String()}, prometheus.NewRegistry())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- page.run(ctx) }()
		kit.Eventually(t, 10*time.Second, func() (bool, string) {
			return page.page.end.Load() == end.Unix(), "the certificate of the page was not read"
		})
		stop()
		<-ended
		text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served.Certificate[0]}))
		alipay.compose(&Config{AlipayAppCert: Secret(text)}, prometheus.NewRegistry())
		for name, watched := range map[string]*certificates{listener.Addr().String(): &page, "STAMPEDE_ALIPAY_APP_CERT": &alipay} {
			got := watched.ending(time.Now())
			if strings.Contains(got, name) != want || strings.Contains(got, end.UTC().Format(time.DateOnly)) != want {
				t.Errorf("%s ends in %d days: got %q, want a report: %v", name, days, got, want)
			}
		}
	}
}

// A total that only grows is counted for about a minute.
func TestLastMinuteForgetsOlderEvents(t *testing.T) {
	t.Parallel()
	var m lastMinute
	start := time.Now()
	for _, c := range []struct {
		seconds     int
		total, want int64
	}{{0, 0, 0}, {10, 12, 12}, {59, 14, 14}, {61, 14, 14}, {100, 15, 14}, {125, 15, 1}, {190, 15, 0}} {
		if got := m.of(c.total, start.Add(time.Duration(c.seconds)*time.Second)); got != c.want {
			t.Errorf("after %d s and %d events: got %d, want %d", c.seconds, c.total, got, c.want)
		}
	}
}
