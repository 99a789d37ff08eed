package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// redisForms lists the valid forms of STAMPEDE_REDIS_URL for error messages.
const redisForms = "want redis://[user:password@]host:port/db (rediss:// for TLS, unix://… for a socket), " +
	"redis-cluster://[user:password@]host:port,host:port or " +
	"redis-sentinel://[user:password@]sentinel:port,sentinel:port/MASTER?db=0 " +
	"(rediss-cluster://, rediss-sentinel:// for TLS)"

var errUnreadableRedis = errors.New(
	"cannot be read (in a password, write #, /, ?, @ and : as %23, %2F, %3F, %40, %3A): " + redisForms)

// redisAddress is the address of a cluster, of a master that sentinels monitor, or of one server. go-redis selects its
// client from these fields.
type redisAddress struct{ redis.UniversalOptions }

// parseRedisURL parses STAMPEDE_REDIS_URL. Its errors continue the sentence after the variable's name. They never
// contain the value, which may include a password.
func parseRedisURL(address string) (redisAddress, error) {
	scheme, afterScheme, _ := strings.Cut(address, "://")
	switch scheme {
	case "redis-cluster", "rediss-cluster":
		return clusterAddress(afterScheme, scheme == "rediss-cluster")
	case "redis-sentinel", "rediss-sentinel":
		return sentinelAddress(afterScheme, scheme == "rediss-sentinel")
	}
	options, err := redis.ParseURL(address)
	u, parseErr := url.Parse(address)
	if err = errors.Join(err, parseErr); err != nil || strings.Contains(address, "#") {
		return redisAddress{}, errUnreadableRedis
	}
	if err := allowSettings(u.Query(), "client_name", "db"); err != nil {
		return redisAddress{}, err
	}
	if options.Username != "" && options.Password == "" {
		return redisAddress{}, errors.New("has a user without a password: want user:password@host, or :password@host")
	}
	return singleAddress(options), nil
}

func singleAddress(o *redis.Options) redisAddress {
	return redisAddress{redis.UniversalOptions{
		Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB, ClientName: o.ClientName,
		Protocol: o.Protocol, TLSConfig: o.TLSConfig,
	}}
}

func clusterAddress(afterScheme string, encrypted bool) (redisAddress, error) {
	u, err := parseHosts(afterScheme, "6379")
	if err != nil {
		return redisAddress{}, err
	}
	if u.path != "" && u.path != "0" {
		return redisAddress{}, fmt.Errorf(
			"names database %q, and a cluster has only 0: remove the part after the hosts", u.path)
	}
	if err := allowSettings(u.query, "client_name"); err != nil {
		return redisAddress{}, err
	}
	return redisAddress{redis.UniversalOptions{
		IsClusterMode: true, Addrs: u.hosts, Username: u.user, Password: u.password,
		ClientName: u.query.Get("client_name"), TLSConfig: tlsFor(encrypted),
	}}, nil
}

func sentinelAddress(afterScheme string, encrypted bool) (redisAddress, error) {
	u, err := parseHosts(afterScheme, "26379")
	if err != nil {
		return redisAddress{}, err
	}
	if u.path == "" || strings.Contains(u.path, "/") {
		return redisAddress{}, errors.New("names no master: want redis-sentinel://sentinel:port,sentinel:port/MASTER" +
			", with the name that the sentinels use for it")
	}
	if err := allowSettings(u.query, "client_name", "db", "sentinel_username", "sentinel_password"); err != nil {
		return redisAddress{}, err
	}
	database := 0
	if text := u.query.Get("db"); text != "" {
		if database, err = strconv.Atoi(text); err != nil || database < 0 {
			return redisAddress{}, fmt.Errorf("has db=%q: want the number of a database, like db=0", text)
		}
	}
	return redisAddress{redis.UniversalOptions{
		MasterName: u.path, Addrs: u.hosts, Username: u.user, Password: u.password, DB: database,
		SentinelUsername: u.query.Get("sentinel_username"), SentinelPassword: u.query.Get("sentinel_password"),
		ClientName: u.query.Get("client_name"), TLSConfig: tlsFor(encrypted),
	}}, nil
}

// useCA makes the client verify server certificates with the given CA certificates instead of those of the system.
func (a *redisAddress) useCA(certificates Secret) error {
	switch {
	case certificates == "":
		return nil
	case a.TLSConfig == nil:
		return errors.New("is set, but STAMPEDE_REDIS_URL has no TLS: use the form rediss://…, " +
			"rediss-cluster://… or rediss-sentinel://…")
	}
	a.TLSConfig.RootCAs = x509.NewCertPool()
	if !a.TLSConfig.RootCAs.AppendCertsFromPEM([]byte(certificates)) {
		return errors.New("has no valid certificate: want PEM, which starts with -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// tlsFor returns a configuration without ServerName: each server is verified against the name in its address.
func tlsFor(encrypted bool) *tls.Config {
	if !encrypted {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// hostsURL is the part after the scheme of a URL with several hosts.
type hostsURL struct {
	user, password string
	hosts          []string // host:port
	path           string   // without leading and trailing slashes
	query          url.Values
}

// parseHosts parses [user:password@]host[:port],host[:port]/path?query. Package net/url supports a single host only.
func parseHosts(afterScheme, port string) (hostsURL, error) {
	authority, tail := afterScheme, ""
	if at := strings.IndexAny(afterScheme, "/?#"); at >= 0 {
		authority, tail = afterScheme[:at], afterScheme[at:]
	}
	account, hosts := "", authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		account, hosts = authority[:at+1], authority[at+1:]
	}
	u, err := url.Parse("redis://" + account + "host" + tail)
	if err != nil || strings.Contains(tail, "#") {
		return hostsURL{}, errUnreadableRedis
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return hostsURL{}, errors.New("has invalid settings after the ?: want name=value&name=value")
	}
	parsed := hostsURL{user: u.User.Username(), path: strings.Trim(u.Path, "/"), query: query}
	parsed.password, _ = u.User.Password()
	for host := range strings.SplitSeq(hosts, ",") {
		complete, err := hostPort(host, port)
		if err != nil {
			return hostsURL{}, err
		}
		parsed.hosts = append(parsed.hosts, complete)
	}
	return parsed, nil
}

// hostPort adds the default port if host has none.
func hostPort(host, port string) (string, error) {
	name, number, err := net.SplitHostPort(host)
	if err != nil {
		name, number, err = net.SplitHostPort(host + ":" + port)
	}
	if n, failed := strconv.ParseUint(number, 10, 16); err != nil || failed != nil || n == 0 || name == "" {
		return "", fmt.Errorf("names the host %q: want host:port, or several separated by commas", host)
	}
	return net.JoinHostPort(name, number), nil
}

// allowSettings returns an error for settings that are not in `known`. The program itself sets the other options of the
// driver.
func allowSettings(query url.Values, known ...string) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("has the setting %q after the ?: only %s is allowed", name,
				strings.Join(known, ", "))
		}
	}
	return nil
}
