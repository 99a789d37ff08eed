package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

// fence restricts a pool to the server for which the last recovery ran. After a failover, connections to another server
// are rejected: a new connection before its first statement, an open connection before its next use.
type fence struct {
	trusted atomic.Pointer[trustedServer] // nil: any server
}

type trustedServer struct {
	server     string
	generation int64
}

// Trust sets the only server that may be used from now on, and the generation of its history.
func (s History) Trust(server string, generation int64) {
	s.fence.trusted.Store(&trustedServer{server, generation})
}

// generation returns the generation of the trusted server; 0: no server is trusted yet, or no data was ever lost.
func (f *fence) generation() int64 {
	if t := f.trusted.Load(); t != nil {
		return t.generation
	}
	return 0
}

func (f *fence) admits(server string) bool {
	t := f.trusted.Load()
	return t == nil || t.server == server
}

// mysqlConn lists the interfaces of a MySQL connection that database/sql uses.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// fencedConn is a connection with the id of its server.
type fencedConn struct {
	mysqlConn
	fence  *fence
	server string
	opened time.Time
	faults *faultLog
}

// fenced reads the id of the server of a new connection. ErrTransient: the fence does not admit this server.
func (f *fence) fenced(ctx context.Context, conn driver.Conn, faults *faultLog) (driver.Conn, error) {
	c := &fencedConn{mysqlConn: conn.(mysqlConn), fence: f, opened: time.Now(), faults: faults}
	rows, err := c.QueryContext(ctx, "SELECT "+mysqlDialect.server, nil)
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return nil, err
	}
	c.server = fmt.Sprintf("%s", row[0])
	if err := rows.Close(); err != nil {
		return nil, err
	}
	if !f.admits(c.server) {
		return nil, fmt.Errorf("%w: the address leads to database server %s, for which no recovery has run",
			shop.ErrTransient, c.server)
	}
	return c, nil
}

// ResetSession runs before each use of the connection except the first.
func (c *fencedConn) ResetSession(ctx context.Context) error {
	if !c.fence.admits(c.server) || !c.IsValid() {
		return driver.ErrBadConn
	}
	return c.mysqlConn.ResetSession(ctx)
}

// ForRecovery opens a small pool of the same database that may use any server and may change orders of partitions that
// are not open. The caller closes it.
func (s *Store) ForRecovery() *Store {
	if s.connector == nil { // SQLite: there is only one file
		return &Store{&session{pool: s.pool, db: s.db, recovers: true}}
	}
	session := sessionConnector{s.connector, &fence{}, s.faults}
	pooled := newPooledStore(sql.OpenDB(session), session, unfencedConns)
	pooled.recovers = true
	return pooled
}

// Pin restricts the pool of a recovery to one server and generation, so that no step of a recovery reaches another
// server. An empty string permits any server.
func (s History) Pin(server string, generation int64) {
	if s.connector == nil { // SQLite: ForRecovery shares the pool
		return
	}
	if server == "" {
		s.fence.trusted.Store(nil)
		return
	}
	s.Trust(server, generation)
}
