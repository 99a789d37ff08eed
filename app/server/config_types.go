package server

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones for containers without a zone database

	"github.com/go-sql-driver/mysql"
)

// Secret is a string that logs and messages never show.
type Secret string

// String hides the value. Convert to string to read it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// LogValue hides the value from structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// List is a comma-separated list. Blanks and empty parts are ignored.
type List []string

// UnmarshalText never fails.
func (l *List) UnmarshalText(text []byte) error {
	*l = splitList(text)
	return nil
}

func splitList(text []byte) (l List) {
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part != "" {
			l = append(l, part)
		}
	}
	return l
}

func (l List) String() string { return strings.Join(l, ",") }

// CIDRs is a list of addresses or networks. A bare address is a network of one address.
type CIDRs []netip.Prefix

// UnmarshalText parses a comma-separated list. The error names the invalid part.
func (c *CIDRs) UnmarshalText(text []byte) error {
	*c = nil
	for _, part := range splitList(text) {
		if ip, err := netip.ParseAddr(part); err == nil {
			ip = ip.Unmap()
			*c = append(*c, netip.PrefixFrom(ip, ip.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil || network.Addr().Is4In6() {
			return fmt.Errorf("has %q: want an IP address or a network like 10.0.0.0/8", part)
		}
		*c = append(*c, network)
	}
	return nil
}

func (c CIDRs) String() string {
	parts := make([]string, len(c))
	for i, network := range c {
		parts[i] = network.String()
	}
	return strings.Join(parts, ",")
}

// Roles selects the work of a node. api serves pages and sockets, worker turns reservations into rows, sweeper ends
// unpaid orders and repairs missed work.
type Roles struct{ API, Worker, Sweeper bool }

// inOrder returns the roles in their fixed order.
func (r *Roles) inOrder() []role {
	return []role{{"api", &r.API}, {"worker", &r.Worker}, {"sweeper", &r.Sweeper}}
}

type role struct {
	name string
	on   *bool
}

// UnmarshalText requires at least one role and rejects unknown ones.
func (r *Roles) UnmarshalText(text []byte) error {
	*r = Roles{}
	parts, all := splitList(text), r.inOrder()
	for _, part := range parts {
		i := slices.IndexFunc(all, func(known role) bool { return known.name == part })
		if i < 0 {
			return fmt.Errorf("has the unknown role %q: want one or more of api,worker,sweeper", part)
		}
		*all[i].on = true
	}
	if len(parts) == 0 {
		return fmt.Errorf("is empty: want one or more of api,worker,sweeper")
	}
	return nil
}

// names returns the enabled roles, never nil.
func (r Roles) names() []string {
	names := []string{}
	for _, known := range r.inOrder() {
		if *known.on {
			names = append(names, known.name)
		}
	}
	return names
}

func (r Roles) String() string { return strings.Join(r.names(), ",") }

// Zone is a time zone by its IANA name.
type Zone struct{ *time.Location }

// UnmarshalText rejects unknown zones.
func (z *Zone) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("is empty: want a name like Asia/Shanghai or UTC")
	}
	location, err := time.LoadLocation(string(text))
	if err != nil {
		return fmt.Errorf("is %q: want a name like Asia/Shanghai or UTC", text)
	}
	z.Location = location
	return nil
}

// Level is the minimum level of log lines.
type Level struct{ slog.Level }

// UnmarshalText accepts debug, info, warn and error.
func (l *Level) UnmarshalText(text []byte) error {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, string(text)) {
		return fmt.Errorf("is %q: want debug, info, warn or error", text)
	}
	return l.Level.UnmarshalText(text)
}

func checkDSN(s Secret) string {
	if s == "" {
		return ""
	}
	switch dsn, err := mysql.ParseDSN(string(s)); {
	case strings.Contains(string(s), "://"):
		return "is a URL: want user:password@tcp(host:3306)/database, with the password as it is (no %XX)"
	case err != nil:
		return "cannot be read: want user:password@tcp(host:3306)/database"
	case dsn.DBName == "":
		return "names no database: want user:password@tcp(host:3306)/database"
	}
	return ""
}

// checkMySQLCA requires PEM certificates and a DSN that verifies them.
func checkMySQLCA(dsn, certificates Secret) string {
	if certificates == "" {
		return ""
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(certificates)) {
		return "has no valid certificate: want PEM, which starts with -----BEGIN CERTIFICATE-----"
	}
	if cfg, err := mysql.ParseDSN(string(dsn)); dsn != "" && err == nil && cfg.TLSConfig != "true" {
		return "is set, but STAMPEDE_MYSQL_DSN does not end with ?tls=true: the server would not be verified"
	}
	return ""
}

// warnMySQLTLS reports TLS modes that do not verify the server and so allow a man in the middle.
func warnMySQLTLS(dsn Secret) string {
	cfg, err := mysql.ParseDSN(string(dsn))
	if dsn == "" || err != nil || (cfg.TLSConfig != "skip-verify" && cfg.TLSConfig != "preferred") {
		return ""
	}
	return "has tls=" + cfg.TLSConfig + ": the server is not verified and can be impersonated; set tls=true, and " +
		"STAMPEDE_MYSQL_CA_FILE if this machine does not trust the CA of its certificate"
}

// checkOrigin accepts what browsers and apps send in the header Origin: scheme and host, and a port if it is not the
// default one.
func checkOrigin(origin string) string {
	u, err := url.Parse(origin)
	switch {
	case err == nil && strings.Contains(u.Host, "*"):
		return "has " + quote(origin) + ": wildcards are not supported, list each origin"
	case err != nil || u.Scheme == "" || u.Host == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}):
		return "has " + quote(origin) + ": want scheme and host only, like https://shop.example or capacitor://localhost"
	}
	return ""
}

// checkPublicURL accepts the origin of a web page.
func checkPublicURL(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme != "http" && u.Scheme != "https" {
		return "is " + quote(address) + ": want http:// or https://, and a host, like https://shop.example"
	}
	return checkOrigin(address)
}

// publicOrigin returns the parsed PUBLIC_URL, which check has validated. It is empty if the variable is not set.
func (c *Config) publicOrigin() url.URL {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return url.URL{}
	}
	return *u
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
