package server

import (
	"net"
	"net/netip"
	"time"

	"stampede/app/archive"
)

// Config holds all settings. Each field is one environment variable: the tag env is its name after the prefix, the tag
// does describes effect and unit (stampede serve --help). Load fills Config and reports invalid values. No other code
// reads the environment. Secrets can also come from a file, named by the same variable with _FILE.
type Config struct {
	// Stores. With both addresses the server uses real stores, with neither it uses embedded ones.
	RedisURL        Secret `env:"REDIS_URL" secret:"true" does:"redis://[user:password@]host:port/db; redis-cluster://…@host:port,host:port; redis-sentinel://…@host:port,host:port/MASTER?db=0; rediss… for TLS"`
	RedisCA         Secret `env:"REDIS_CA" secret:"public" does:"certificates (PEM) of who signed those of Redis and its sentinels; unset: those that this machine trusts"`
	RedisReplicas   int    `env:"REDIS_REPLICAS" envDefault:"0" does:"replicas of Redis that must have a buy before it is answered (WAIT), so that a failover loses none; with fewer there, buys are busy; 0: the answer waits for none"`
	MySQLDSN        Secret `env:"MYSQL_DSN" secret:"true" does:"user:password@tcp(host:3306)/database, ?tls=true behind it for TLS; needed parameters are added"`
	MySQLReplica    Secret `env:"MYSQL_REPLICA_DSN" secret:"true" does:"a server that replicates MYSQL_DSN's: operators' lists and reports are read from it while it has all that its primary committed; nothing is decided by it"`
	MySQLCA         Secret `env:"MYSQL_CA" secret:"public" does:"certificates (PEM) of who signed MySQL's; unset: those that this machine trusts"`
	Data            string `env:"DATA" envDefault:"stampede-data" does:"folder of the embedded stores"`
	EmbeddedRedis   string `env:"EMBEDDED_REDIS" envDefault:"127.0.0.1:0" does:"where the embedded Redis listens, for redis-cli; port 0: any free one"`
	AllowWeakStores bool   `env:"ALLOW_WEAK_STORES" envDefault:"false" does:"start although Redis may forget (no AOF, keys evicted)"`

	// Listeners.
	Listen        string `env:"LISTEN" envDefault:"127.0.0.1:8080" does:"host:port of page, API and sockets"`
	MetricsListen string `env:"METRICS_LISTEN" envDefault:"127.0.0.1:9090" does:"host:port of /metrics /healthz /readyz; off: none"`

	HeaderLimit int           `env:"HEADER_LIMIT" envDefault:"4096" does:"bytes of all headers of a request, up to 16384, e.g. for cookies of a single sign-on; a connection needs as much memory while it sends a request"`
	IdleTimeout time.Duration `env:"IDLE_TIMEOUT" envDefault:"75s" does:"how long a connection may wait for its next request; longer than a proxy in front keeps its connections"`

	// Authentication.
	JWTSecret  Secret `env:"JWT_SECRET" secret:"true" does:"signs tokens, at least 32 bytes, the same on every node; required on real stores"`
	GuestLogin bool   `env:"GUEST_LOGIN" envDefault:"false" does:"let people in without an account"`
	PublicURL  string `env:"PUBLIC_URL" does:"where people find the page, e.g. https://shop.example: links in mails lead there; unset: this node's own address"`
	Origins    List   `env:"ALLOWED_ORIGINS" does:"further origins that may open sockets, e.g. https://shop.example"`
	Proxies    CIDRs  `env:"TRUSTED_PROXIES" does:"addresses or networks of the proxies in front: their X-Real-IP, or else X-Forwarded-For, is believed; unset, everybody behind one counts as one address"`

	// Rate limits (package limits). The preset applies to every limit below that is not set itself. The tag strict is
	// the value of the preset strict. 0 disables a limit where its description states so.
	Limits         string `env:"LIMITS" envDefault:"default" does:"preset of the figures from here to MAX_CONNS_PER_IP: default (an office of 200 behind one address gets in) or strict; each one that is set itself wins"`
	AuthRate       int    `env:"AUTH_RATE" envDefault:"600" strict:"60" does:"logins per minute and client address, after the burst; 0: no limit"`
	AuthBurst      int    `env:"AUTH_BURST" envDefault:"1000" strict:"20" does:"logins of a client address at once; an office or a mobile carrier shares one"`
	HandshakeRate  int    `env:"HANDSHAKE_RATE" envDefault:"200" strict:"10" does:"socket handshakes per second and client address, after the burst; 0: no limit"`
	HandshakeBurst int    `env:"HANDSHAKE_BURST" envDefault:"4000" strict:"50" does:"socket handshakes of a client address at once: all of its sockets come back together when a node goes away"`
	OpsRate        int    `env:"OPS_RATE" envDefault:"20" strict:"10" does:"ops per second of one socket, after the burst"`
	OpsBurst       int    `env:"OPS_BURST" envDefault:"40" strict:"20" does:"ops of one socket at once"`
	BuyUserRate    int    `env:"BUY_USER_RATE" envDefault:"5" strict:"1" does:"presses of Buy per second and user on this node, over sockets and HTTP together, after the burst; 0: no limit"`
	BuyUserBurst   int    `env:"BUY_USER_BURST" envDefault:"20" strict:"1" does:"presses of Buy of a user at once"`
	BuyRate        int    `env:"BUY_RATE" envDefault:"100" strict:"10" does:"presses of Buy per second and client address on this node, over sockets and HTTP together, after the burst; 0: no limit"`
	BuyBurst       int    `env:"BUY_BURST" envDefault:"1000" strict:"10" does:"presses of Buy of a client address at once"`
	BuyAllRate     int    `env:"BUY_ALL_RATE" envDefault:"100000" strict:"1000" does:"presses of Buy per second in the whole shop, divided by its live nodes; 0: no limit"`
	BuyAllBurst    int    `env:"BUY_ALL_BURST" envDefault:"100000" strict:"1000" does:"presses of Buy in the whole shop at once, divided likewise"`
	// Sliding windows for HTTP, counted in Redis across all nodes.
	Window        time.Duration `env:"WINDOW" envDefault:"1s" does:"length of the sliding windows of HTTP requests, which all nodes count together"`
	ListPerUser   int           `env:"LIST_PER_USER" envDefault:"50" strict:"5" does:"requests of a user for slots, sales, products and categories in a window; 0: no limit"`
	ListPerAddr   int           `env:"LIST_PER_IP" envDefault:"500" strict:"5" does:"the same of a client address"`
	AuthPerUser   int           `env:"AUTH_PER_USER" envDefault:"20" strict:"2" does:"requests of a user about logging in, in a window; 0: no limit"`
	AuthPerAddr   int           `env:"AUTH_PER_IP" envDefault:"500" strict:"10" does:"the same of a client address"`
	OrdersPerUser int           `env:"ORDERS_PER_USER" envDefault:"50" strict:"5" does:"requests of a user about orders and the account, in a window; 0: no limit"`
	OrdersPerAddr int           `env:"ORDERS_PER_IP" envDefault:"500" strict:"10" does:"the same of a client address"`

	UserConns int `env:"MAX_CONNS_PER_USER" envDefault:"10" strict:"4" does:"sockets of one user on this node"`
	AddrConns int `env:"MAX_CONNS_PER_IP" envDefault:"4000" strict:"100" does:"connections of one client address to this node, its sockets through proxies included; a browser takes up to seven"`
	MaxConns  int `env:"MAX_CONNS" envDefault:"50000" does:"sockets of this node"`

	// The shop.
	Roles      Roles         `env:"ROLES" envDefault:"api,worker,sweeper" does:"what this node does"`
	Slots      SlotTimes     `env:"SLOTS" envDefault:"08,10,12,14,16,18,20,22" does:"the day's slots: starts (two hours each) or windows like 08:00-09:30"`
	TimeZone   Zone          `env:"TIME_ZONE" envDefault:"Asia/Shanghai" does:"of the shop's day"`
	PayWindow  time.Duration `env:"PAY_WINDOW" envDefault:"5m" does:"how long an order waits for its payment"`
	Partitions int           `env:"PARTITIONS" envDefault:"8" does:"streams in Redis; fixed once a database has them"`
	Backlog    int64         `env:"BACKLOG" envDefault:"100000" does:"reservations of a partition that may wait for MySQL before buys are busy"`

	// Payments: the contract with Alipay. Without an app id the shop takes no payments. Keys are PEM or bare base64.
	// Set either Alipay's public key or the three certificates.
	AlipayAppID      string        `env:"ALIPAY_APP_ID" does:"the shop's app at Alipay; none: nothing can be paid"`
	AlipayPrivateKey Secret        `env:"ALIPAY_PRIVATE_KEY" secret:"true" does:"the shop's private key"`
	AlipayPublicKey  Secret        `env:"ALIPAY_PUBLIC_KEY" secret:"public" does:"Alipay's public key, in public-key mode"`
	AlipayAppCert    Secret        `env:"ALIPAY_APP_CERT" secret:"public" does:"the shop's certificate, in certificate mode"`
	AlipayCert       Secret        `env:"ALIPAY_CERT" secret:"public" does:"Alipay's certificate, in certificate mode"`
	AlipayRootCert   Secret        `env:"ALIPAY_ROOT_CERT" secret:"public" does:"Alipay's root certificates, in certificate mode"`
	AlipaySellerID   string        `env:"ALIPAY_SELLER_ID" does:"2088…, the account that the money goes to: notifications for other sellers are refused; unset, nobody looks"`
	AlipayGateway    string        `env:"ALIPAY_GATEWAY" envDefault:"https://openapi.alipay.com/gateway.do" does:"the gateway's address; the sandbox has its own"`
	AlipayNotifyURL  string        `env:"ALIPAY_NOTIFY_URL" does:"public address of /api/v1/payments/alipay/notify; none: payments are found by asking, within a minute; with a simulator, this node's own"`
	AlipayReturnURL  string        `env:"ALIPAY_RETURN_URL" does:"where buyers come back to, e.g. https://shop.example/; with a simulator, this node's own"`
	AlipayTimeout    time.Duration `env:"ALIPAY_TIMEOUT" envDefault:"5s" does:"how long one call to the gateway may take"`
	AlipayQueryRate  int           `env:"ALIPAY_QUERY_RATE" envDefault:"500" does:"questions per second of this node about open payments; with up to 40 times as many open, a missed notification is found within a minute"`
	AlipaySimulator  bool          `env:"ALIPAY_SIMULATOR" envDefault:"false" does:"the gateway is a simulator: no real money moves"`
	RefundPolicy     string        `env:"REFUND_POLICY" envDefault:"auto" does:"who decides when a buyer wants the money back: auto (at once, while it is not shipped) or operator"`
	FinishAfter      time.Duration `env:"FINISH_AFTER" envDefault:"336h" does:"after which an order that was shipped finishes by itself, if its buyer does not confirm its receipt; 336h is 14 days"`
	WebhookURL       string        `env:"WEBHOOK_URL" does:"where paid and refunded orders are posted to, signed; none: the back office reads the stream"`
	WebhookSecret    Secret        `env:"WEBHOOK_SECRET" secret:"true" does:"signs what is posted there, at least 32 bytes"`

	// E-mails. Without a mail server they are written to files in the data folder.
	SMTPURL  Secret `env:"SMTP_URL" secret:"true" does:"mail server, smtp://user:password@host:587 (with STARTTLS) or smtps://…; none: mails are files in STAMPEDE_DATA/mail"`
	MailFrom string `env:"MAIL_FROM" does:"who mails are from, e.g. Shop <noreply@shop.example>"`

	// Retention.
	ArchiveAfter  time.Duration `env:"ARCHIVE_AFTER" envDefault:"2208h" does:"after its end the settled orders of a sale move to the archive; at least 2208h, the 92 days in which Alipay refunds, 0: never"`
	PersonalAfter time.Duration `env:"PERSONAL_DATA_AFTER" envDefault:"0" does:"after its end the orders of a sale that are over lose address and parcel number, and guests their address books; at least 48h, e.g. 8760h for a year, 0: never"`

	// The process.
	ReturnWithin time.Duration `env:"RETURN_WITHIN" envDefault:"5s" does:"over what time the sockets of a node that shuts down are told to come back elsewhere"`
	LogLevel     Level         `env:"LOG_LEVEL" envDefault:"info" does:"debug, info, warn or error"`
	Profiles     bool          `env:"PROFILES" envDefault:"false" does:"show profiles under /debug/pprof/ on METRICS_LISTEN; for a while, to find out what a node is busy with"`
	LogFormat    string        `env:"LOG_FORMAT" envDefault:"text" does:"text or json"`
	OTLPEndpoint string        `env:"OTLP_ENDPOINT" does:"collector of traces by OpenTelemetry's protocol over HTTP, e.g. http://127.0.0.1:4318; none: no buy is traced"`
	TraceRatio   float64       `env:"TRACE_RATIO" envDefault:"0.01" does:"how many of the buys are traced, 0 to 1, from their frame to the pushed order; what it costs: deploy/load/LIMITS.md"`

	// Exposed lists the secret files that other users of the machine can access, for [Config.Warnings].
	Exposed []Problem `env:"-"`
}

// prefix is the prefix of every variable.
const prefix = "STAMPEDE_"

// Embedded reports whether no real stores are configured.
func (c *Config) Embedded() bool { return c.RedisURL == "" && c.MySQLDSN == "" }

// check validates ranges and relations. It returns at most one problem per variable.
func (c *Config) check() []Problem {
	var p problems
	switch {
	case c.RedisURL != "" && c.MySQLDSN == "":
		p.add("MYSQL_DSN", "is not set, but STAMPEDE_REDIS_URL is: set both for real stores, none for the embedded ones")
	case c.RedisURL == "" && c.MySQLDSN != "":
		p.add("REDIS_URL", "is not set, but STAMPEDE_MYSQL_DSN is: set both for real stores, none for the embedded ones")
	}
	c.checkRedis(&p)
	p.within("REDIS_REPLICAS", int64(c.RedisReplicas), 0, 5)
	p.check("MYSQL_DSN", checkDSN(c.MySQLDSN))
	p.check("MYSQL_CA", checkMySQLCA(c.MySQLDSN, c.MySQLCA))
	c.checkReplica(&p)
	c.checkSecret(&p)
	p.check("LISTEN", checkAddress(c.Listen))
	if c.MetricsListen != "off" {
		p.check("METRICS_LISTEN", checkAddress(c.MetricsListen))
		if c.MetricsListen == c.Listen && !freePort(c.Listen) {
			p.add("METRICS_LISTEN", "is the same address as STAMPEDE_LISTEN: choose another port, or off")
		}
	}
	p.check("EMBEDDED_REDIS", checkLoopback(c.EmbeddedRedis))
	if c.PublicURL != "" {
		p.check("PUBLIC_URL", checkOrigin(c.PublicURL))
	}
	for _, origin := range c.Origins {
		p.check("ALLOWED_ORIGINS", checkOrigin(origin))
	}
	c.checkLimits(&p)
	p.within("HEADER_LIMIT", int64(c.HeaderLimit), 4<<10, 16<<10)
	p.lasts("IDLE_TIMEOUT", c.IdleTimeout, time.Second, time.Hour)
	p.within("PARTITIONS", int64(c.Partitions), 1, 1024)
	p.within("BACKLOG", c.Backlog, 1, 10_000_000)
	c.checkMoney(&p)
	c.checkMail(&p)
	p.lasts("PAY_WINDOW", c.PayWindow, time.Second, 24*time.Hour)
	p.lasts("RETURN_WITHIN", c.ReturnWithin, 0, 10*time.Minute)
	const most = 50 * 365 * 24 * time.Hour
	if c.ArchiveAfter != 0 {
		p.lasts("ARCHIVE_AFTER", c.ArchiveAfter, archive.RefundWindow, most)
	}
	if c.PersonalAfter != 0 {
		p.lasts("PERSONAL_DATA_AFTER", c.PersonalAfter, archive.MinPersonalAfter, most)
	}
	c.checkAlipay(&p)
	if c.LogFormat != "text" && c.LogFormat != "json" {
		p.add("LOG_FORMAT", "is "+quote(c.LogFormat)+": want text or json")
	}
	c.checkTraces(&p)
	return p.found
}

func (c *Config) checkSecret(p *problems) {
	switch n := len(c.JWTSecret); {
	case n == 0 && !c.Embedded():
		p.add("JWT_SECRET",
			"is required on real stores: set at least 32 random bytes, e.g. from `openssl rand -base64 48`, the same on every node")
	case n > 0 && n < minSecret:
		p.add("JWT_SECRET", "is too short: at least 32 bytes are needed, e.g. from `openssl rand -base64 48`")
	}
}

// freePort reports whether the address has port 0, which means any free port.
func freePort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port == "0"
}

func checkAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "is " + quote(address) + ": want host:port, e.g. 127.0.0.1:8080 or :8080"
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n > 65535 {
		return "has the port " + quote(port) + ": want 0 to 65535"
	}
	if host == "" || host == "localhost" {
		return ""
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return "has the host " + quote(host) + ": want an IP address of this machine, or nothing for all"
	}
	return ""
}

// checkLoopback accepts loopback addresses only: the embedded Redis has no password.
func checkLoopback(address string) string {
	if wrong := checkAddress(address); wrong != "" {
		return wrong
	}
	host, _, _ := net.SplitHostPort(address)
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "is " + quote(address) + ": the embedded Redis has no password and listens on loopback only"
	}
	return ""
}
