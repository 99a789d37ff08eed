package kit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nginx is a private nginx that runs a shipped site file.
type Nginx struct {
	Addr string      // host:port
	TLS  *tls.Config // for clients; trusts the certificate
	CA   string      // path of the certificate, PEM

	p *process
}

// nginxConf is the minimal nginx.conf around the site, as a replacement for Debian's.
const nginxConf = `daemon off;
pid nginx.pid;
error_log stderr warn;
%s
http {
  access_log off;
  client_body_temp_path tmp;
  proxy_temp_path tmp;
  fastcgi_temp_path tmp;
  uwsgi_temp_path tmp;
  scgi_temp_path tmp;
  include site.conf;
}
`

// singleProcess runs nginx as a single process, so that a kill leaves no workers.
const singleProcess = "master_process off;\nevents { worker_connections 16384; }"

// shippedServer is the line of a node in the site file. Its group contains the parameters, which apply to all nodes.
var shippedServer = regexp.MustCompile(`server 127\.0\.0\.1:8080([^;]*);`)

// StartNginx starts nginx in front of upstream (host:port, several separated by commas). nginx ends with the test.
// StartNginx replaces the addresses and the certificate in the site file and applies changes: pairs of a text that
// occurs exactly once and its replacement.
func StartNginx(t testing.TB, site, upstream string, changes ...string) *Nginx {
	t.Helper()
	return startNginx(t, site, upstream, func(string) (string, error) { return singleProcess, nil }, changes)
}

// startNginx is StartNginx with other process settings. processSettings receives the site text and returns the process
// settings of nginx.conf.
func startNginx(
	t testing.TB, site, upstream string, processSettings func(string) (string, error), changes []string,
) *Nginx {
	t.Helper()
	program, err := findProgram("nginx")
	if err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	text, err := os.ReadFile(site)
	if err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	changed, err := swap(string(text), changes)
	if err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	processes, err := processSettings(changed)
	if err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	server := shippedServer.FindStringSubmatch(changed)
	if server == nil {
		t.Fatalf("kit: nginx: %s has no line for the node 127.0.0.1:8080", site)
	}
	var servers strings.Builder
	for node := range strings.SplitSeq(upstream, ",") {
		fmt.Fprintf(&servers, "server %s%s;\n", node, server[1])
	}
	dir := t.TempDir()
	n := &Nginx{}
	n.CA = filepath.Join(dir, "cert.pem")
	if n.TLS, err = certify(dir); err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	err = onFreePort(0, func(port int) error {
		n.Addr = loopback(port)
		conf, err := swap(changed, []string{
			"listen 443 ssl;", "listen " + n.Addr + " ssl;", "listen [::]:443 ssl;", "", server[0], servers.String(),
			"/etc/ssl/stampede/fullchain.pem", "cert.pem", "/etc/ssl/stampede/privkey.pem", "key.pem",
		})
		if err != nil {
			return err
		}
		for name, content := range map[string]string{
			"nginx.conf": fmt.Sprintf(nginxConf, processes), "site.conf": conf,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				return err
			}
		}
		n.p = &process{
			name: "nginx", program: "/bin/sh", dir: dir, ready: n.ping,
			// SIGTERM lets a master stop its workers if the test binary is killed; SIGKILL would leave them running.
			deathSignal: syscall.SIGTERM,
			// Each shopper needs two file descriptors, so raise the limit to the maximum.
			args: []string{
				"-c", `ulimit -n "$(ulimit -Hn)"; exec "$0" "$@"`, program, "-p", dir, "-c", "nginx.conf", "-e",
				"stderr",
			},
		}
		t.Cleanup(func() {
			n.p.stop()
			if t.Failed() {
				t.Logf("log of nginx:\n%s", n.p.logTail())
			}
		})
		return n.p.start()
	})
	if err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	return n
}

// swap replaces the first text of each pair by the second. The first text must occur exactly once; otherwise the site
// file has changed.
func swap(text string, pairs []string) (string, error) {
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(text, pairs[i]); n != 1 {
			return "", fmt.Errorf("the site contains %q %d times, want once", pairs[i], n)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text, nil
}

// Log returns the error log of nginx.
func (n *Nginx) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(n.p.logFile())
	if err != nil {
		t.Fatalf("kit: nginx: %v", err)
	}
	return string(text)
}

func (n *Nginx) ping() error {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", n.Addr, n.TLS)
	if err != nil {
		return err
	}
	return conn.Close()
}

// certify writes cert.pem and key.pem for 127.0.0.1 and returns a client configuration that trusts the certificate.
func certify(dir string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	privateKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: privateKey},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	trusted, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(trusted)
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}, nil
}
