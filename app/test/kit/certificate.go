package kit

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Certificate holds the files of a self-signed certificate for 127.0.0.1.
type Certificate struct{ Cert, Key string }

// NewCertificate creates a certificate whose files are removed when the test ends.
func NewCertificate(t testing.TB) *Certificate {
	t.Helper()
	dir := t.TempDir()
	if _, err := certify(dir); err != nil {
		t.Fatalf("kit: certificate: %v", err)
	}
	return &Certificate{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

// PEM returns the certificate in PEM format, so that clients can trust the server.
func (c *Certificate) PEM(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(c.Cert)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// redisArgs returns the Redis arguments for TLS on a separate port. The plain port stays open for the test itself. A
// nil certificate returns no arguments.
func (c *Certificate) redisArgs(t testing.TB, more ...string) (args []string, port int) {
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

// scheme returns the URL scheme for a name that starts with "redis", for example rediss-cluster:// with TLS.
func (c *Certificate) scheme(name string) string {
	if c == nil {
		return name + "://"
	}
	return "rediss" + name[len("redis"):] + "://"
}
