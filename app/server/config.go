package server

import (
	"net"
	"net/netip"
	"os"
	"time"

	"stampede/app/privacy"
	"stampede/app/shop"
)

// Config holds all settings. Each field is one environment variable: the tag env is its name after the prefix, the tag
// does describes effect and unit (stampede serve --help). Load fills Config and reports invalid values. No other code
// reads the environment. Secrets can also come from a file, whose path is in the same variable with _FILE.
type Config struct {
	// Stores. With both addresses the server uses real stores, with neither it uses embedded ones.
	RedisURL        Secret `env:"REDIS_URL" secret:"true" does:"redis://[user:password@]host:port/db; redis-cluster://…@host:port,host:port; redis-sentinel://…@host:port,host:port/MASTER?db=0; rediss… for TLS"`
	RedisCA         Secret `env:"REDIS_CA" secret:"public" pem:"true" does:"CA certificates (PEM) for Redis and its sentinels; unset: the CAs that this machine trusts"`
	RedisReplicas   int    `env:"REDIS_REPLICAS" envDefault:"0" does:"replicas of Redis that must store a buy before its reply (WAIT), so that a failover loses no buy; with fewer replicas online, buys return busy; 0: replies do not wait"`
	MySQLDSN        Secret `env:"MYSQL_DSN" secret:"true" does:"user:password@tcp(host:3306)/database; append ?tls=true for TLS; the program adds the parameters that it needs"`
	MySQLReplica    Secret `env:"MYSQL_REPLICA_DSN" secret:"true" does:"DSN of a replica of MYSQL_DSN: serves lists and reports of operators while it has all commits of its primary; no decision uses it"`
	MySQLCA         Secret `env:"MYSQL_CA" secret:"public" pem:"true" does:"CA certificates (PEM) for MySQL; unset: the CAs that this machine trusts"`
	Data            string `env:"DATA" envDefault:"stampede-data" does:"folder of the embedded stores"`
	EmbeddedRedis   string `env:"EMBEDDED_REDIS" envDefault:"127.0.0.1:0" does:"host:port of the embedded Redis, for redis-cli; port 0: any free port"`
	AllowWeakStores bool   `env:"ALLOW_WEAK_STORES" envDefault:"false" does:"start although Redis may lose data (no AOF, evicted keys)"`

	// Listeners.
	Listen        string `env:"LISTEN" envDefault:"127.0.0.1:8080" does:"host:port of the page, the API and the sockets"`
	MetricsListen string `env:"METRICS_LISTEN" envDefault:"127.0.0.1:9090" does:"host:port of /metrics, /healthz and /readyz; off: no listener"`

	HeaderLimit int           `env:"HEADER_LIMIT" envDefault:"4096" does:"maximum bytes of all headers of a request, up to 16384, e.g. for cookies of a single sign-on; each connection uses this much memory while it sends a request"`
	IdleTimeout time.Duration `env:"IDLE_TIMEOUT" envDefault:"75s" does:"maximum time between two requests of a connection; must exceed the idle timeout of a proxy in front"`

	// Authentication.
	JWTSecret  Secret `env:"JWT_SECRET" secret:"true" does:"secret that signs tokens, at least 32 bytes, the same on every node; required on real stores"`
	GuestLogin bool   `env:"GUEST_LOGIN" envDefault:"false" does:"let guests in, without an account"`
	PublicURL  string `env:"PUBLIC_URL" does:"public address of the page, e.g. https://shop.example, for links in e-mails, shared links and calendar files; unset: the address of this node"`
	Origins    List   `env:"ALLOWED_ORIGINS" does:"more origins that may open sockets, e.g. https://shop.example,capacitor://localhost; no wildcards"`
	Proxies    CIDRs  `env:"TRUSTED_PROXIES" does:"addresses or networks of the proxies in front, whose X-Real-IP, or else X-Forwarded-For, the node trusts; unset: all clients behind a proxy count as one address"`

	// Rate limits (package limits). The preset applies to every limit below that is not set itself. The tag `strict` is
	// the value of the preset `strict`. 0 disables a limit if its description states this.
	Limits         string `env:"LIMITS" envDefault:"default" does:"preset of the limits from here to MAX_CONNS_PER_IP: default (admits an office of 200 people behind one address) or strict; a limit with its own value overrides the preset"`
	AuthRate       int    `env:"AUTH_RATE" envDefault:"600" strict:"60" does:"logins per minute and client address, after the burst; 0: no limit"`
	AuthBurst      int    `env:"AUTH_BURST" envDefault:"1000" strict:"20" does:"burst of logins per client address; an office or a mobile carrier shares one address"`
	HandshakeRate  int    `env:"HANDSHAKE_RATE" envDefault:"200" strict:"10" does:"socket handshakes per second and client address, after the burst; 0: no limit"`
	HandshakeBurst int    `env:"HANDSHAKE_BURST" envDefault:"4000" strict:"50" does:"burst of socket handshakes per client address; all its sockets reconnect together when a node stops"`
	OpsRate        int    `env:"OPS_RATE" envDefault:"20" strict:"10" does:"ops per second and socket, after the burst"`
	OpsBurst       int    `env:"OPS_BURST" envDefault:"40" strict:"20" does:"burst of ops per socket"`
	BuyUserRate    int    `env:"BUY_USER_RATE" envDefault:"5" strict:"1" does:"buy attempts per second and user on this node, over sockets and HTTP together, after the burst; 0: no limit"`
	BuyUserBurst   int    `env:"BUY_USER_BURST" envDefault:"20" strict:"1" does:"burst of buy attempts per user"`
	BuyRate        int    `env:"BUY_RATE" envDefault:"100" strict:"10" does:"buy attempts per second and client address on this node, over sockets and HTTP together, after the burst; 0: no limit"`
	BuyBurst       int    `env:"BUY_BURST" envDefault:"1000" strict:"10" does:"burst of buy attempts per client address"`
	BuyAllRate     int    `env:"BUY_ALL_RATE" envDefault:"100000" strict:"1000" does:"buy attempts per second in the whole shop, divided by the live nodes; 0: no limit"`
	BuyAllBurst    int    `env:"BUY_ALL_BURST" envDefault:"100000" strict:"1000" does:"burst of buy attempts in the whole shop, divided by the live nodes"`
	// Sliding windows for HTTP, counted in Redis across all nodes.
	Window        time.Duration `env:"WINDOW" envDefault:"1s" does:"length of the sliding windows for HTTP requests; all nodes share the counts"`
	ListPerUser   int           `env:"LIST_PER_USER" envDefault:"50" strict:"5" does:"requests per user and window for slots, sales, products and categories; 0: no limit"`
	ListPerAddr   int           `env:"LIST_PER_IP" envDefault:"500" strict:"5" does:"the same per client address and window; 0: no limit"`
	AuthPerUser   int           `env:"AUTH_PER_USER" envDefault:"20" strict:"2" does:"requests per user and window about logins; 0: no limit"`
	AuthPerAddr   int           `env:"AUTH_PER_IP" envDefault:"500" strict:"10" does:"the same per client address and window; 0: no limit"`
	OrdersPerUser int           `env:"ORDERS_PER_USER" envDefault:"50" strict:"5" does:"requests per user and window about orders and the account; 0: no limit"`
	OrdersPerAddr int           `env:"ORDERS_PER_IP" envDefault:"500" strict:"10" does:"the same per client address and window; 0: no limit"`

	UserConns int `env:"MAX_CONNS_PER_USER" envDefault:"10" strict:"4" does:"maximum sockets of one user on this node"`
	AddrConns int `env:"MAX_CONNS_PER_IP" envDefault:"4000" strict:"100" does:"maximum connections of one client address to this node, including its sockets through proxies; a browser uses up to seven"`
	MaxConns  int `env:"MAX_CONNS" envDefault:"50000" does:"maximum sockets of this node"`

	// The shop.
	Roles      Roles         `env:"ROLES" envDefault:"api,worker,sweeper" does:"roles of this node"`
	Slots      SlotTimes     `env:"SLOTS" envDefault:"08,10,12,14,16,18,20,22" does:"slots of a day: opening times (two hours each) or windows like 08:00-09:30"`
	TimeZone   Zone          `env:"TIME_ZONE" envDefault:"Asia/Shanghai" does:"time zone of the shop"`
	PayWindow  time.Duration `env:"PAY_WINDOW" envDefault:"5m" does:"time to pay an order"`
	Partitions int           `env:"PARTITIONS" envDefault:"8" does:"number of streams in Redis; fixed after the first start with a database"`
	Backlog    int64         `env:"BACKLOG" envDefault:"100000" does:"maximum reservations of a partition that wait for MySQL; above it, buys return busy"`

	// Payments: the contract with Alipay. Without an app id the shop takes no payments. Keys are PEM or bare base64.
	// Set either Alipay's public key or the three certificates.
	AlipayAppID      string        `env:"ALIPAY_APP_ID" does:"id of the app of the shop at Alipay; unset: no payments"`
	AlipayPrivateKey Secret        `env:"ALIPAY_PRIVATE_KEY" secret:"true" pem:"true" does:"private key of the shop"`
	AlipayPublicKey  Secret        `env:"ALIPAY_PUBLIC_KEY" secret:"public" pem:"true" does:"Alipay's public key, in public-key mode"`
	AlipayAppCert    Secret        `env:"ALIPAY_APP_CERT" secret:"public" pem:"true" does:"certificate of the shop, in certificate mode"`
	AlipayCert       Secret        `env:"ALIPAY_CERT" secret:"public" pem:"true" does:"Alipay's certificate, in certificate mode"`
	AlipayRootCert   Secret        `env:"ALIPAY_ROOT_CERT" secret:"public" pem:"true" does:"Alipay's root certificates, in certificate mode"`
	AlipaySellerID   string        `env:"ALIPAY_SELLER_ID" does:"2088…, the account that receives the money: notifications for other sellers are rejected; unset: no check"`
	AlipayGateway    string        `env:"ALIPAY_GATEWAY" envDefault:"https://openapi.alipay.com/gateway.do" does:"address of the gateway; the sandbox has another address"`
	AlipayNotifyURL  string        `env:"ALIPAY_NOTIFY_URL" does:"public address of /api/v1/payments/alipay/notify; unset: queries find payments within a minute; with a simulator, the address of this node"`
	AlipayReturnURL  string        `env:"ALIPAY_RETURN_URL" does:"page for buyers after the payment, e.g. https://shop.example/; with a simulator, the address of this node"`
	AlipayTimeout    time.Duration `env:"ALIPAY_TIMEOUT" envDefault:"5s" does:"timeout of one call to the gateway"`
	AlipayQueryRate  int           `env:"ALIPAY_QUERY_RATE" envDefault:"500" does:"queries per second of this node about open payments; with at most 40 times as many open payments, queries find a missed notification within a minute"`
	AlipaySimulator  bool          `env:"ALIPAY_SIMULATOR" envDefault:"false" does:"true: the gateway is a simulator and no real money moves"`
	RefundPolicy     string        `env:"REFUND_POLICY" envDefault:"auto" does:"decision about refund requests: auto (refund at once, before the order is shipped) or operator (an operator decides)"`
	FinishAfter      time.Duration `env:"FINISH_AFTER" envDefault:"336h" does:"time after which a shipped order finishes without a receipt by its buyer; 336h is 14 days"`
	WebhookURL       string        `env:"WEBHOOK_URL" does:"address that gets signed postings of paid and refunded orders; unset: the back office reads the stream"`
	WebhookSecret    Secret        `env:"WEBHOOK_SECRET" secret:"true" does:"secret that signs the postings, at least 32 bytes"`

	// E-mails. Without a mail server they are written to files in the data folder.
	SMTPURL  Secret `env:"SMTP_URL" secret:"true" does:"mail server, smtp://user:password@host:587 (with STARTTLS) or smtps://…; unset: e-mails are files in STAMPEDE_DATA/mail"`
	MailFrom string `env:"MAIL_FROM" does:"sender of e-mails, e.g. Shop <noreply@shop.example>"`

	// Retention.
	PersonalAfter time.Duration `env:"PERSONAL_DATA_AFTER" envDefault:"0" does:"time after the close of a sale until its completed orders lose address and parcel number, and guests their address books; at least 48h, e.g. 8760h for a year; 0: never"`

	// The process.
	ReturnWithin time.Duration `env:"RETURN_WITHIN" envDefault:"5s" does:"time over which a node that shuts down spreads the reconnects of its sockets"`
	LogLevel     Level         `env:"LOG_LEVEL" envDefault:"info" does:"debug, info, warn or error"`
	Profiles     bool          `env:"PROFILES" envDefault:"false" does:"serve profiles under /debug/pprof/ on METRICS_LISTEN; enable it only for an analysis"`
	LogFormat    string        `env:"LOG_FORMAT" envDefault:"text" does:"text or json"`
	OTLPEndpoint string        `env:"OTLP_ENDPOINT" does:"collector of OpenTelemetry traces over HTTP (OTLP), e.g. http://127.0.0.1:4318; unset: no traces"`
	TraceRatio   float64       `env:"TRACE_RATIO" envDefault:"0.01" does:"share of traced buys, 0 to 1, from the frame to the pushed order; for the cost see deploy/load/LIMITS.md"`

	// Exposed lists the secret files that other users of the machine can access, for [Config.Warnings].
	Exposed []Problem `env:"-"`
}

// prefix is the prefix of every variable.
const prefix = "STAMPEDE_"

// Embedded reports whether no real stores are configured.
func (c *Config) Embedded() bool { return c.RedisURL == "" && c.MySQLDSN == "" }

// HasShop reports whether real stores are configured, or the data folder has an embedded shop.
func (c *Config) HasShop() bool {
	_, err := os.Stat(folder(c.Data).database())
	return !c.Embedded() || err == nil
}

// check validates single values and combinations of values. It returns at most one problem per variable.
func (c *Config) check() []Problem {
	var p problems
	switch {
	case c.RedisURL != "" && c.MySQLDSN == "":
		p.add("MYSQL_DSN", "is not set, but STAMPEDE_REDIS_URL is: set both for real stores, or none for embedded stores")
	case c.RedisURL == "" && c.MySQLDSN != "":
		p.add("REDIS_URL", "is not set, but STAMPEDE_MYSQL_DSN is: set both for real stores, or none for embedded stores")
	}
	c.checkRedis(&p)
	p.checkRange("REDIS_REPLICAS", int64(c.RedisReplicas), 0, 5)
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
		p.check("PUBLIC_URL", checkPublicURL(c.PublicURL))
	}
	for _, origin := range c.Origins {
		p.check("ALLOWED_ORIGINS", checkOrigin(origin))
	}
	c.checkLimits(&p)
	p.checkRange("HEADER_LIMIT", int64(c.HeaderLimit), 4<<10, 16<<10)
	p.checkDuration("IDLE_TIMEOUT", c.IdleTimeout, time.Second, time.Hour)
	p.checkRange("PARTITIONS", int64(c.Partitions), 1, 1024)
	p.checkRange("BACKLOG", c.Backlog, 1, 10_000_000)
	c.checkMoney(&p)
	c.checkMail(&p)
	p.checkDuration("PAY_WINDOW", c.PayWindow, time.Second, 24*time.Hour)
	p.checkDuration("RETURN_WITHIN", c.ReturnWithin, 0, 10*time.Minute)
	const maxRetention = 50 * 365 * 24 * time.Hour
	if c.PersonalAfter != 0 {
		p.checkDuration("PERSONAL_DATA_AFTER", c.PersonalAfter, privacy.MinAge, maxRetention)
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
		return "has the host " + quote(host) + ": want an IP address of this machine, or no host for all addresses"
	}
	return ""
}

// checkLoopback accepts loopback addresses only: the embedded Redis has no password.
func checkLoopback(address string) string {
	if problem := checkAddress(address); problem != "" {
		return problem
	}
	if !isLoopback(address) {
		return "is " + quote(address) + ": the embedded Redis has no password and listens on loopback only"
	}
	return ""
}

// isLoopback reports whether only this machine reaches the host:port.
func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return shop.IsLocalHost(host)
}
