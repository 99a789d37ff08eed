package server

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// readDeployFile reads a file of the folder deploy.
func readDeployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestShippedDeploymentsListTheirProxy: both shipped deployments run behind nginx and list its addresses as proxies.
func TestShippedDeploymentsListTheirProxy(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{
		"compose.yaml":      `(?m)^\s+STAMPEDE_TRUSTED_PROXIES: (\S+)`,
		"stampede.service":  `(?m)^Environment=STAMPEDE_TRUSTED_PROXIES=(\S+)$`,
		"stampede@.service": `(?m)^Environment=STAMPEDE_TRUSTED_PROXIES=(\S+)$`,
	} {
		found := regexp.MustCompile(setting).FindStringSubmatch(readDeployFile(t, name))
		if found == nil {
			t.Errorf("%s does not set STAMPEDE_TRUSTED_PROXIES", name)
			continue
		}
		c, err := Load([]string{"STAMPEDE_TRUSTED_PROXIES=" + found[1]})
		if err != nil || len(c.Proxies) == 0 {
			t.Errorf("%s: got proxies %v, %v, want at least one", name, c.Proxies, err)
		}
		for _, p := range c.Proxies {
			if !p.IsSingleIP() {
				t.Errorf("%s trusts the network %v: other hosts in it could choose a client address", name, p)
			}
		}
	}
}

// TestShippedUnitsLetNodesDrain: systemd waits longer than a node needs to shut down. A shutdown has three steps with
// the timeout closeTimeout.
func TestShippedUnitsLetNodesDrain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stampede.service", "stampede@.service"} {
		unit := readDeployFile(t, name)
		found := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit)
		if found == nil {
			t.Errorf("%s does not set TimeoutStopSec", name)
			continue
		}
		if seconds, _ := strconv.Atoi(found[1]); time.Duration(seconds)*time.Second <= 3*closeTimeout {
			t.Errorf("%s kills after %d s, want more than %v", name, seconds, 3*closeTimeout)
		}
		for _, line := range []string{"KillSignal=SIGTERM", "KillMode=mixed"} {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("%s lacks %s", name, line)
			}
		}
	}
}

// TestShippedSecretsAreFiles: the shipped deployments pass secrets in files, under valid variable names.
func TestShippedSecretsAreFiles(t *testing.T) {
	t.Parallel()
	secret := make(map[string]bool)
	for _, v := range Variables() {
		secret[v.Name] = v.Secret
	}
	for _, name := range []string{
		"compose.yaml", "stampede.service", "stampede@.service", "kubernetes/base/kustomization.yaml",
		"kubernetes/migrate/job.yaml",
	} {
		found := regexp.MustCompile(`(STAMPEDE_\w+)_FILE[=:,]`).FindAllStringSubmatch(readDeployFile(t, name), -1)
		if len(found) < 2 {
			t.Errorf("%s: got secret files %v, want at least two", name, found)
		}
		for _, file := range found {
			if !secret[file[1]] {
				t.Errorf("%s sets %s_FILE, but %s is not a secret", name, file[1], file[1])
			}
		}
		if regexp.MustCompile(`STAMPEDE_(JWT_SECRET|MYSQL_DSN)[=:,]`).MatchString(readDeployFile(t, name)) {
			t.Errorf("%s has a secret in the environment, where every process of the node's user can read it", name)
		}
	}
}

// TestNginxLimitsAreLooserThanProgramLimits: the limits of the shipped nginx are looser than those of the program,
// which alone returns retry times. nginx never rejects a request that the program would accept.
func TestNginxLimitsAreLooserThanProgramLimits(t *testing.T) {
	t.Parallel()
	c, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	site := readDeployFile(t, "nginx.conf")
	number := func(pattern string) int {
		t.Helper()
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(site, -1)
		if len(found) != 1 {
			t.Fatalf("nginx.conf matches %q %d times, want once", pattern, len(found))
		}
		n, err := strconv.Atoi(found[0][1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if sockets := number(`limit_conn stampede_connections (\d+);`); sockets < 2*c.AddrConns {
		t.Errorf("nginx allows %d sockets per address, the program allows %d", sockets, c.AddrConns)
	}
	if burst := number(`location / \{\s+limit_req zone=stampede_http burst=(\d+) nodelay;`); burst < 2*(c.AuthBurst+c.BuyBurst) {
		t.Errorf("nginx allows a burst of %d requests per address, the program allows %d logins and %d buys", burst, c.AuthBurst,
			c.BuyBurst)
	}
	if perSecond := number(`rate=(\d+)r/s;`); perSecond < c.BuyRate+c.AuthPerAddr+c.ListPerAddr+c.OrdersPerAddr {
		t.Errorf("nginx allows %d requests per second and address, the program allows %d buys and counts %d, %d and %d of other kinds",
			perSecond, c.BuyRate, c.AuthPerAddr, c.ListPerAddr, c.OrdersPerAddr)
	}
	// A location that sets one header inherits none. Without these headers all requests have nginx's address, and pages
	// lose their sockets.
	for _, location := range regexp.MustCompile(`(?s)location [^@{]*\{.*?\n  \}`).FindAllString(site, -1) {
		if strings.Contains(location, "proxy_set_header") {
			t.Errorf("a location sets headers of its own and drops those of the server:\n%s", location)
		}
	}
}
