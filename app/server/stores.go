package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/migrations"
	"stampede/streams"
)

const (
	redisTimeout = 2 * time.Second
	// redisConns is the pool size for all calls except blocking reads. The gate needs few connections, because it
	// groups buys.
	redisConns = 64
	// maxPause is the longest pause between two attempts to reach a store at the start. logInterval is the interval of
	// log lines about the wait.
	maxPause    = 2 * time.Second
	logInterval = 3 * time.Second
	// connectTimeout limits one attempt to reach a store.
	connectTimeout = 5 * time.Second
)

// stores holds the open connections.
type stores struct {
	db         *store.Store
	recoveryDB *store.Store          // db on connections to any server, for recovery
	replica    *store.Replica        // serves lists and reports; nil: not configured
	client     redis.UniversalClient // for calls that reply at once
	blocking   redis.UniversalClient // for blocking reads of consumers
	database   int                   // database number in Redis
	redisHosts string                // hosts of Redis, for errors
	replicas   int                   // number of replicas that a buy waits for
	embedded   *embeddedRedis        // nil with real stores
	shopID     string                // id of the shop, from the database
}

// openStores connects to the configured stores. It waits for unreachable real stores until ctx ends. The callback
// `report` receives the name of the store and the last error.
func openStores(ctx context.Context, c *Config, report func(name string, err error)) (*stores, error) {
	s := &stores{replicas: c.RedisReplicas}
	address, err := s.redisAddress(c)
	if err != nil {
		return nil, err
	}
	s.connect(address, c.Partitions)
	err = waitFor(ctx, "the database", connectTimeout, report, func(ctx context.Context) error { return s.openDatabase(ctx, c) })
	if err == nil {
		err = waitFor(ctx, "Redis", connectTimeout, report, s.ping)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// redisAddress returns the address of the real Redis, or starts the embedded one and returns its address.
func (s *stores) redisAddress(c *Config) (redisAddress, error) {
	if !c.Embedded() {
		return c.redisAddress()
	}
	started, err := startRedis(folder(c.Data), c.EmbeddedRedis)
	if err != nil {
		return redisAddress{}, err
	}
	s.embedded = started
	return singleAddress(&redis.Options{Addr: started.mini.Addr()}), nil
}

// connect opens the clients. It sends no command.
func (s *stores) connect(a redisAddress, partitions int) {
	s.database, s.redisHosts = a.DB, a.hostsText()
	s.client = a.open(redisConns)
	s.blocking = a.open(partitions + 6) // one per partition, the webhook, e-mails and a reserve
	hookRedis(s.client, s.blocking)
}

func (s *stores) openDatabase(ctx context.Context, c *Config) (err error) {
	if c.Embedded() {
		s.db, err = store.OpenSQLite(ctx, folder(c.Data).database())
	} else {
		s.db, err = store.OpenTrustedMySQL(ctx, string(c.MySQLDSN), string(c.MySQLCA))
	}
	if err != nil {
		return err
	}
	s.recoveryDB = s.db.ForRecovery()
	hookStore(s.db)
	hookStore(s.recoveryDB)
	if c.MySQLReplica != "" {
		s.replica = store.OpenReplica(s.db, string(c.MySQLReplica), string(c.MySQLCA))
	}
	return nil
}

// ping adds the address to its error, because a timeout does not contain it.
func (s *stores) ping(ctx context.Context) error {
	err := streams.CheckReachable(ctx, s.client)
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("reach Redis at %s: %w: if a private CA signed its certificate, set STAMPEDE_REDIS_CA_FILE to the "+
			"certificate of that CA", s.redisHosts, err)
	case err != nil:
		return fmt.Errorf("reach Redis at %s: %w", s.redisHosts, err)
	}
	return nil
}

// namespace separates shops that share a Redis server.
func (s *stores) namespace() string { return strconv.Itoa(s.database) }

func (s *stores) close() error {
	var failed []error
	for _, c := range []redis.UniversalClient{s.client, s.blocking} {
		if c != nil {
			failed = append(failed, c.Close())
		}
	}
	if s.replica != nil {
		failed = append(failed, s.replica.Close())
	}
	if s.db != nil {
		failed = append(failed, s.db.Close())
	}
	if s.recoveryDB != s.db {
		failed = append(failed, s.recoveryDB.Close())
	}
	if s.embedded != nil {
		s.embedded.close()
	}
	return errors.Join(failed...)
}

var (
	errWaitCancelled = errors.New("gave up waiting") // ctx ended
	errNoRetry       = errors.New("a retry cannot correct this; `stampede checkconfig` lists the problems of each store, " +
		"and STAMPEDE_MYSQL_DSN and STAMPEDE_REDIS_URL set the stores and their accounts")
)

// waitFor calls the function `try` with growing pauses until it succeeds, ctx ends, or it returns
// shop.ErrMisconfigured. Each attempt takes at most the duration `within`. Every few seconds waitFor reports the error.
// The name must not contain hosts, because it is public.
func waitFor(
	ctx context.Context, name string, within time.Duration, report func(name string, err error),
	try func(ctx context.Context) error,
) error {
	pause := 50 * time.Millisecond
	var loggedAt time.Time
	for {
		attempt, cancel := context.WithTimeout(ctx, within)
		err := try(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, shop.ErrMisconfigured) {
			return fmt.Errorf("%s: %w\n%w", name, err, errNoRetry)
		}
		if time.Since(loggedAt) > logInterval {
			loggedAt = time.Now()
			report("waiting for "+name, err)
			slog.WarnContext(ctx, "cannot reach "+name+"; retrying", "err", err)
		}
		if !shop.Sleep(ctx, pause) {
			return fmt.Errorf("%w for %s: %w", errWaitCancelled, name, err)
		}
		pause = min(2*pause, maxPause)
	}
}

// prepareDatabase applies pending migrations if `migrate` is true. Otherwise it fails if migrations are pending. It
// also checks that the database was created for this number of partitions.
func prepareDatabase(ctx context.Context, db *store.Store, migrate bool, partitions int) error {
	if migrate {
		names, err := migrations.Up(ctx, db.DB())
		if err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
		if len(names) > 0 {
			slog.InfoContext(ctx, "database migrated", "applied", len(names), "newest", names[len(names)-1])
		}
	}
	pending, err := migrations.Pending(ctx, db.DB())
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if len(pending) > 0 {
		return fmt.Errorf("the database lacks %d migrations, the first is %s: run `stampede migrate up`, or serve with --migrate",
			len(pending), pending[0])
	}
	if text, err := newerSchema(ctx, db); err != nil || text != "" {
		slog.WarnContext(ctx, "the schema of the database is newer than this program", "what", text, "err", err)
	}
	return db.Partitions().EnsurePartitions(ctx, partitions)
}

// newerSchema describes a schema that a newer program has migrated; "": this program has all its migrations.
func newerSchema(ctx context.Context, db *store.Store) (string, error) {
	unknown, err := migrations.Unknown(ctx, db.DB())
	if err != nil || len(unknown) == 0 {
		return "", err
	}
	return fmt.Sprintf("a newer program has applied migration %s: use that program, or restore the backup of before its "+
		"upgrade", strings.Join(unknown, ", ")), nil
}

// readStore returns the store for lists and reports: the replica if one is configured, otherwise the primary.
func (s *stores) readStore() backoffice.Reader {
	if s.replica != nil {
		return s.replica
	}
	return s.db.Reports()
}

// replicaWeaknesses reports why the node would not read from a configured replica. The shop works without a replica.
func (s *stores) replicaWeaknesses(ctx context.Context) []Weakness {
	if s.replica == nil {
		return nil
	}
	err := s.replica.Check(ctx)
	if err == nil {
		return nil
	}
	risk := "the primary also serves lists and reports: " + err.Error()
	return []Weakness{weaknessOf("MySQL replica", store.WeakSetting{Risk: risk}, false)}
}

// registerReplica exports how many reads the replica and the primary served. A nil replica exports 0.
func registerReplica(registry *prometheus.Registry, replica *store.Replica) {
	for i, from := range []string{"replica", "primary"} {
		read := func() int64 {
			if replica == nil {
				return 0
			}
			fromReplica, fromPrimary := replica.Reads()
			return [...]int64{fromReplica, fromPrimary}[i]
		}
		counter(registry, "stampede_replica_reads_total",
			"Lists and reports that this node read while a replica was configured, by source.", read, "from", from)
	}
}

// prepare checks the settings of the stores and prepares the database.
func (s *Server) prepare(ctx context.Context, stores *stores) error {
	if s.config.Embedded() {
		slog.Warn("running on embedded stores, which are for tests: a crash loses reservations without a row",
			"database", folder(s.config.Data).database(), "redis", stores.embedded.mini.Addr())
	} else {
		found, err := stores.weaknesses(ctx)
		if err != nil {
			return err
		}
		if err := refuseWeak(ctx, found, s.config.AllowWeakStores); err != nil {
			return err
		}
	}
	err := prepareDatabase(ctx, stores.db, s.options.Migrate || s.config.Embedded(), s.config.Partitions)
	if err == nil {
		err = s.config.requireNodeGateway(ctx, stores.db)
	}
	if err == nil {
		stores.shopID, err = stores.db.Settings().ShopID(ctx)
	}
	return err
}

// checkReplica requires a primary for the replica, and TLS verification if certificates are configured.
func (c *Config) checkReplica(p *problems) {
	if c.MySQLReplica == "" {
		return
	}
	if c.MySQLDSN == "" {
		p.add("MYSQL_REPLICA_DSN", "is set, but STAMPEDE_MYSQL_DSN is not: set the DSN of its primary")
		return
	}
	p.check("MYSQL_REPLICA_DSN", checkDSN(c.MySQLReplica))
	if cfg, err := mysql.ParseDSN(string(c.MySQLReplica)); err == nil && c.MySQLCA != "" && cfg.TLSConfig != "true" {
		p.add("MYSQL_REPLICA_DSN", "does not end with ?tls=true, but STAMPEDE_MYSQL_CA is set: the server would not be verified")
	}
}
