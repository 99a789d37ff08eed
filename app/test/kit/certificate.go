package kit

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Certificate is one for 127.0.0.1 that signed itself, in files.
type Certificate struct{ Cert, Key string }

// NewCertificate makes a certificate that lives as long as the test.
func NewCertificate(t testing.TB) *Certificate {
	t.Helper()
	dir := t.TempDir()
	if _, err := certify(dir); err != nil {
		t.Fatalf("kit: certificate: %v", err)
	}
	return &Certificate{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

// PEM is what whoever trusts it is given.
func (c *Certificate) PEM(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(c.Cert)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settings are the arguments with which a Redis expects TLS on a port of its own, beside the plain one for the test
// itself. Without a certificate there are none.
func (c *Certificate) settings(t testing.TB, more ...string) (args []string, port int) {
	t.Helper()
	if c == nil {
		return nil, 0
	}
	port, err := freePort()
	if err != nil {
		t.Fatalf("kit: %v", err)
	}
	return append([]string{
		"--tls-port", strconv.Itoa(port), "--tls-cert-file", c.Cert, "--tls-key-file", c.Key,
		"--tls-ca-cert-file", c.Cert, "--tls-auth-clients", "no",
	}, more...), port
}

// scheme begins an address: rediss-… with TLS.
func (c *Certificate) scheme(name string) string {
	if c == nil {
		return name + "://"
	}
	return "rediss" + name[len("redis"):] + "://"
}
