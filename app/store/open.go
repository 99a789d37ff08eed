package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

const (
	dialTimeout = 5 * time.Second
	// ioTimeout ends the wait for a server that stopped responding. No statement of the program takes that long.
	ioTimeout = 30 * time.Second
	// connLifetime limits the lifetime of a connection, so that no connection stays with a server that was replaced or
	// became read-only.
	connLifetime = time.Minute
	// maxIdle limits the idle time of a pooled connection. It is far below the session's wait_timeout, so that the
	// server never closes a connection immediately before its use.
	maxIdle    = 5 * time.Second
	mysqlConns = 32
	// unfencedConns allows one connection for the lock of a recovery and some for its reads.
	unfencedConns = 8
	sqliteConns   = 8
)

// sessionSettings is set on every MySQL connection.
//
//   - sql_mode turns values that do not fit into errors. It lacks NO_BACKSLASH_ESCAPES, because the escaping of strings
//     relies on backslashes.
//   - The server ends a transaction after ten seconds without a statement or progress, so that a frozen process blocks
//     no rows. MariaDB does so by idle_transaction_timeout (a comment for MySQL), MySQL by wait_timeout (see maxIdle).
//   - A lock wait ends after two seconds, so that a batch can skip the locked row.
const sessionSettings = `SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
	time_zone = '+00:00', innodb_lock_wait_timeout = 2, net_read_timeout = 10, net_write_timeout = 10
	/*M! , idle_transaction_timeout = 10 */ /*!80000 , wait_timeout = 10 */`

// isolation is a separate statement because the variable's name differs between MySQL and MariaDB.
const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"

// OpenMySQL connects to MySQL or MariaDB. The DSN has the form user:password@tcp(host:port)/database; the program sets
// the parameters that it needs. The error describes the fault of the DSN, or wraps shop.ErrTransient: no server was
// reached.
func OpenMySQL(ctx context.Context, dsn string) (*Store, error) {
	return OpenTrustedMySQL(ctx, dsn, "")
}

// OpenTrustedMySQL is OpenMySQL for a DSN with tls=true. One of the certificates (PEM) must have signed the server's
// certificate. Without certificates, the certificates of the machine are trusted.
func OpenTrustedMySQL(ctx context.Context, dsn, certificates string) (*Store, error) {
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	if err := setCertificates(cfg, certificates); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("MySQL DSN: %w", err)
	}
	session := sessionConnector{connector, &fence{}, &faultLog{}}
	db := sql.OpenDB(session)
	if err := pingServer(ctx, db, "MySQL at "+cfg.Addr); err != nil {
		return nil, err
	}
	return newPooledStore(db, session, mysqlConns), nil
}

// newPooledStore makes a store of a pool. The pool must have reached its server, because bun reads the server's version
// only once.
func newPooledStore(db *sql.DB, session sessionConnector, conns int) *Store {
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(connLifetime)
	db.SetConnMaxIdleTime(maxIdle)
	return newStore(&pool{
		conns: bun.NewDB(db, mysqldialect.New(mysqldialect.WithTimeLocation("UTC"))), d: mysqlDialect,
		fence: session.fence, faults: session.faults, connector: session.Connector,
		expiring: make(chan struct{}, mysqlConns/4),
	})
}

func mysqlConfig(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("MySQL DSN: %w (want user:password@tcp(host:port)/database)", err)
	}
	if cfg.DBName == "" {
		return nil, errors.New("MySQL DSN: no database named (want user:password@tcp(host:port)/database)")
	}
	cfg.ParseTime, cfg.Loc = true, time.UTC
	cfg.InterpolateParams = true    // one round trip instead of three
	cfg.MaxAllowedPacket = 0        // of the server: a larger statement fails before it is sent, with its reason
	cfg.ClientFoundRows = true      // counts matched rows, changed or not
	cfg.Logger = &mysql.NopLogger{} // the driver also returns these errors, or has already retried
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	if err := cfg.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("MySQL DSN: %w", err)
	}
	return cfg, nil
}

// setCertificates verifies the server's certificate against the given ones. The driver has read tls=true and the server
// name from the DSN.
func setCertificates(cfg *mysql.Config, certificates string) error {
	if certificates == "" {
		return nil
	}
	if cfg.TLS == nil || cfg.TLS.InsecureSkipVerify || cfg.AllowFallbackToPlaintext {
		return errors.New("MySQL DSN: certificates to trust are set, but the DSN has no tls=true")
	}
	cfg.TLS.RootCAs, cfg.TLS.MinVersion = x509.NewCertPool(), tls.VersionTLS12
	if !cfg.TLS.RootCAs.AppendCertsFromPEM([]byte(certificates)) {
		return errors.New("certificates to trust for MySQL: the text has no readable certificate")
	}
	return nil
}

// sessionConnector prepares each new connection: it sets the session and checks the fence.
type sessionConnector struct {
	driver.Connector

	fence  *fence
	faults *faultLog
}

// Connect opens a connection. It fails if the server rejects the settings or the fence does not admit the server.
func (s sessionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, s.faults.record(err)
	}
	for _, statement := range []string{sessionSettings, isolation} {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("set up connection: %w", err), conn.Close())
		}
	}
	fenced, err := s.fence.fenced(ctx, conn, s.faults)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return fenced, nil
}

// OpenSQLite opens or creates the file, which only one process may use at a time. A crash of the process loses no
// commit; a crash of the machine may lose the last commits.
func OpenSQLite(ctx context.Context, path string) (*Store, error) {
	// SQLite would create the file with the mode that the umask leaves; -wal and -shm get the mode of the file. An
	// existing file is not opened here, because closing it would release this process's locks.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("SQLite file %s: %w", path, err)
	}
	dsn := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"},
	}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("SQLite file %s: %w", path, err)
	}
	db.SetMaxOpenConns(sqliteConns)
	db.SetMaxIdleConns(sqliteConns)
	if err := pingServer(ctx, db, "SQLite file "+path); err != nil {
		return nil, err
	}
	return newStore(&pool{
		conns: bun.NewDB(db, sqlitedialect.New()), d: sqliteDialect, fence: &fence{}, faults: &faultLog{},
		writer: make(chan struct{}, 1), expiring: make(chan struct{}, 1),
	}), nil
}

func pingServer(ctx context.Context, db *sql.DB, server string) error {
	if err := db.PingContext(ctx); err != nil {
		return wrap("reach "+server, errors.Join(err, db.Close()))
	}
	return nil
}
