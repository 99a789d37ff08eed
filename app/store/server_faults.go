package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ServerFault is a state in which the database server responds and rejects work.
type ServerFault int

// The server faults.
const (
	ReadOnly      ServerFault = iota // it accepts no writes
	NoConnections                    // it accepts no further connections
	serverFaults
)

// String returns the name for metrics.
func (f ServerFault) String() string { return [...]string{"read_only", "connections"}[f] }

// faultOf returns the fault that an error of the server shows. 1290 has many reasons.
func faultOf(err error) (fault ServerFault, found bool) {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return 0, false
	}
	switch e.Number {
	case 1792, 1836:
		return ReadOnly, true
	case 1290:
		return ReadOnly, strings.Contains(e.Message, "read-only") || strings.Contains(e.Message, "read_only")
	case 1040, 1203, 1226:
		return NoConnections, true
	}
	return 0, false
}

// faultLog counts the rejections of a server.
type faultLog struct {
	counts [serverFaults]atomic.Int64
	last   [serverFaults]atomic.Int64 // Unix time in ns
}

// record counts the fault that err shows, and returns err.
func (l *faultLog) record(err error) error {
	if fault, found := faultOf(err); found {
		l.counts[fault].Add(1)
		l.last[fault].Store(time.Now().UnixNano())
	}
	return err
}

// since returns the time since the last rejection, and whether there was a rejection.
func (l *faultLog) since(f ServerFault) (time.Duration, bool) {
	last := l.last[f].Load()
	return time.Since(time.Unix(0, last)), last > 0
}

// Rejections returns how often the server has rejected work of this process because of the fault, and whether it did so
// within the last period.
func (s *Store) Rejections(f ServerFault, period time.Duration) (count int64, recent bool) {
	age, ever := s.faults.since(f)
	return s.faults.counts[f].Load(), ever && age < period
}

// ExecContext runs a statement and records a fault of the server.
func (c *fencedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.mysqlConn.ExecContext(ctx, query, args)
	return result, c.faults.record(err)
}

// QueryContext runs a query and records a fault of the server.
func (c *fencedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.mysqlConn.QueryContext(ctx, query, args)
	return rows, c.faults.record(err)
}

// IsValid reports whether the pool may keep the connection. A server that became read-only was replaced: the next
// connection may reach the primary.
func (c *fencedConn) IsValid() bool {
	age, ever := c.faults.since(ReadOnly)
	return c.mysqlConn.IsValid() && (!ever || age < time.Since(c.opened))
}
