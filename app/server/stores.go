package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"
	_ "time/tzdata"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/migrations"
	"stampede/streams"
)

// the shop's zone must be known in an empty container too

const (
	redisTimeout = 2 * time.Second
	// redisConns is for everything but blocking reads; the gate needs few, because it groups.
	redisConns = 64
	// patience is the longest pause between two tries to reach a store at the start; remind is how often the
	// log says what is being waited for.
	patience = 2 * time.Second
	remind   = 3 * time.Second
	// reachWithin bounds one try to reach a store.
	reachWithin = 5 * time.Second
)

// stores are the open connections.
type stores struct {
	db       *store.Store
	unfenced *store.Store          // db on connections that may reach any server, for recovery
	replica  *store.Replica        // reads lists and reports; nil: none is named
	client   redis.UniversalClient // answers at once
	blocking redis.UniversalClient // consumers wait on it
	database int                   // the number of the database in Redis
	where    string                // hosts of Redis, for errors
	replicas int                   // how many of them a buy waits for
	embedded *embeddedRedis
}

// openStores connects to what the configuration names. Real stores that cannot be reached yet are waited for until
// ctx ends; say is told what for, and why in vain.
func openStores(ctx context.Context, c *Config, say func(what string, err error)) (*stores, error) {
	s := &stores{replicas: c.RedisReplicas}
	address, err := s.redisAddress(c)
	if err != nil {
		return nil, err
	}
	s.connect(address, c.Partitions)
	err = waitFor(ctx, "the database", reachWithin, say, func(ctx context.Context) error { return s.openDatabase(ctx, c) })
	if err == nil {
		err = waitFor(ctx, "Redis", reachWithin, say, s.ping)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// redisAddress is that of the real Redis, or of the embedded one, which is started.
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

// connect makes the clients.
func (s *stores) connect(a redisAddress, partitions int) {
	s.database, s.where = a.DB, a.where()
	s.client = a.open(redisConns)
	s.blocking = a.open(partitions + 6) // the webhook, mails, and some to spare
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
	s.unfenced = s.db.Unfenced()
	hookStore(s.db)
	hookStore(s.unfenced)
	if c.MySQLReplica != "" {
		s.replica = store.OpenReplica(s.db, string(c.MySQLReplica), string(c.MySQLCA))
	}
	return nil
}

// ping names the address in its error: a timeout does not.
func (s *stores) ping(ctx context.Context) error {
	err := streams.Reach(ctx, s.client)
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("reach Redis at %s: %w: if an authority of your own signed it, give STAMPEDE_REDIS_CA_FILE the "+
			"certificate of that", s.where, err)
	case err != nil:
		return fmt.Errorf("reach Redis at %s: %w", s.where, err)
	}
	return nil
}

// namespace tells apart shops that share a Redis server.
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
	if s.unfenced != s.db {
		failed = append(failed, s.unfenced.Close())
	}
	if s.embedded != nil {
		s.embedded.close()
	}
	return errors.Join(failed...)
}

var (
	errGaveUp  = errors.New("gave up waiting") // ctx ended
	errRefused = errors.New("waiting will not mend this; `stampede checkconfig` says what each store lacks, " +
		"and STAMPEDE_MYSQL_DSN and STAMPEDE_REDIS_URL name the stores and their accounts")
)

// waitFor repeats try, for at most within each time and with growing pauses, until it works, ctx ends, or it returns
// shop.ErrMisconfigured. Every few seconds it reports what is missing; what is public and names no hosts.
func waitFor(
	ctx context.Context, what string, within time.Duration, say func(what string, err error),
	try func(ctx context.Context) error,
) error {
	pause := 50 * time.Millisecond
	var said time.Time
	for {
		attempt, cancel := context.WithTimeout(ctx, within)
		err := try(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, shop.ErrMisconfigured) {
			return fmt.Errorf("%s: %w\n%w", what, err, errRefused)
		}
		if time.Since(said) > remind {
			said = time.Now()
			say("waiting for "+what, err)
			slog.WarnContext(ctx, "cannot reach "+what+"; trying again", "err", err)
		}
		if !shop.Sleep(ctx, pause) {
			return fmt.Errorf("%w for %s: %w", errGaveUp, what, err)
		}
		pause = min(2*pause, patience)
	}
}

// prepareDatabase brings the schema up to date if that is wanted, else insists that it is, and checks that it was made
// for this number of partitions.
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
		return fmt.Errorf("look for migrations: %w", err)
	}
	if len(pending) > 0 {
		return fmt.Errorf("the database lacks %d migrations, the first is %s: run `stampede migrate up`, or serve with --migrate",
			len(pending), pending[0])
	}
	return db.EnsurePartitions(ctx, partitions)
}

// shows is the replica, if one is named.
func (s *stores) shows() backoffice.Reader {
	if s.replica != nil {
		return s.replica
	}
	return s.db
}

// replicaWeaknesses says why a replica that is named would not be read: the shop works without it.
func (s *stores) replicaWeaknesses(ctx context.Context) []Weakness {
	if s.replica == nil {
		return nil
	}
	err := s.replica.Check(ctx)
	if err == nil {
		return nil
	}
	risk := "the primary answers lists and reports as well: " + err.Error()
	return []Weakness{weaknessOf("MySQL replica", store.WeakSetting{Risk: risk}, false)}
}

// registerReplica shows how much the replica takes off the primary; nil: nothing.
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
			"Lists and reports that this node read while a replica was named, by who answered.", read, "from", from)
	}
}

// prepare makes sure that the stores are fit to be worked on.
func (s *Server) prepare(ctx context.Context, stores *stores) error {
	if s.config.Embedded() {
		slog.Warn("running on embedded stores, for trying out: after a crash, reservations without a row are gone",
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
	return prepareDatabase(ctx, stores.db, s.options.Migrate || s.config.Embedded(), s.config.Partitions)
}

// checkReplica wants a replica beside a database, and looked at as closely.
func (c *Config) checkReplica(p *problems) {
	if c.MySQLReplica == "" {
		return
	}
	if c.MySQLDSN == "" {
		p.add("MYSQL_REPLICA_DSN", "is set, but STAMPEDE_MYSQL_DSN is not: a replica of which database?")
		return
	}
	p.check("MYSQL_REPLICA_DSN", checkDSN(c.MySQLReplica))
	if cfg, err := mysql.ParseDSN(string(c.MySQLReplica)); err == nil && c.MySQLCA != "" && cfg.TLSConfig != "true" {
		p.add("MYSQL_REPLICA_DSN", "has no ?tls=true behind it, but STAMPEDE_MYSQL_CA is set: the server would not be checked")
	}
}
