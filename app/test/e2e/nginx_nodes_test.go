package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"

	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// Two nodes behind nginx form one shop. nginx distributes sockets over both. After a node dies, reads succeed and new
// sockets open.
func TestNginxUsesBothNodesAndSurvivesADeath(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", nginxAddress)
	s.open(10, 1)
	a, b := s.start(), s.start()
	proxy := kit.StartNginx(t, shippedSite, a.addr+","+b.addr)
	w, ctx := route{proxy.Addr, proxy.TLS}, kit.Context(t)
	v := w.newVisitor(t, "127.0.0.40")

	const sockets = 20
	for range sockets {
		conn, refused, err := v.socket(ctx, v.page())
		if err != nil {
			t.Fatalf("open a socket: %v: %d %s", err, refused.code, refused.text)
		}
		defer conn.Close()
		s.must(conn.Send(wsclient.Request{Op: wsclient.Hello}))
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		onA, onB := a.metric("stampede_live_clients"), b.metric("stampede_live_clients")
		// least_conn also counts page requests between the handshakes, so the split may be uneven.
		return onA+onB == sockets && min(onA, onB) >= sockets/4, fmt.Sprintf("%v and %v sockets", onA, onB)
	})

	response, err := v.request(ctx, http.MethodGet, "/api/v1/time", "")
	s.must(err)
	if hsts := response.header.Values("Strict-Transport-Security"); len(hsts) != 1 || hsts[0] != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security: %q", hsts)
	}

	a.Kill()
	for i := range 20 {
		if response, err := v.request(ctx, http.MethodGet, "/api/v1/time", ""); err != nil || response.code != http.StatusOK {
			t.Fatalf("request %d after a node died: %v, %d %s", i, err, response.code, response.text)
		}
	}
	for range sockets {
		conn, refused, err := v.socket(ctx, v.page())
		if err != nil {
			t.Fatalf("a socket after a node died: %v: %d %s", err, refused.code, refused.text)
		}
		defer conn.Close()
	}
}

// nginx accepts TLS 1.2 and newer. With 1.2 it accepts only AEAD ciphers with forward secrecy.
func TestNginxAcceptsOnlyStrongTLS(t *testing.T) {
	t.Parallel()
	w := route{}
	proxy := kit.StartNginx(t, shippedSite, "127.0.0.1:1")
	w.addr, w.tls = proxy.Addr, proxy.TLS
	for name, c := range map[string]struct {
		version  uint16
		suites   []uint16
		accepted bool
	}{
		"1.0":                       {version: tls.VersionTLS10},
		"1.1":                       {version: tls.VersionTLS11},
		"1.2":                       {version: tls.VersionTLS12, accepted: true},
		"1.2 with CBC":              {version: tls.VersionTLS12, suites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256}},
		"1.2 with RSA key exchange": {version: tls.VersionTLS12, suites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
		"1.3":                       {version: tls.VersionTLS13, accepted: true},
	} {
		config := w.tls.Clone()
		config.MinVersion, config.MaxVersion, config.CipherSuites = c.version, c.version, c.suites
		conn, err := tls.Dial("tcp", w.addr, config)
		if (err == nil) != c.accepted {
			t.Errorf("TLS %s: got %v, want accepted %v", name, err, c.accepted)
		}
		if err == nil {
			conn.Close()
		}
	}
}
