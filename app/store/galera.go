package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"stampede/app"
)

// A MariaDB Galera Cluster is one database on several servers, each of which takes writes. Two things of a server are
// not of the cluster: locks by name (GET_LOCK) hold on the node that gave them, and SELECT … FOR UPDATE keeps the
// others from nothing. That is why all of a shop writes to one node at a time, see oneServer. A transaction that meets
// one of another node all the same, at the moment in which the address moves, ends as the victim of a deadlock, at its
// COMMIT too, and is tried again.

// cluster is how a server tells which Galera cluster it belongs to; MySQL, and a MariaDB without, answer no row or no
// name. Unlike a variable it may be asked for of any server, and unlike a table without privileges.
const cluster = "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'"

// noState is the name that a node answers which has not got the cluster's data yet.
const noState = "00000000-0000-0000-0000-000000000000"

// meetGalera tells a session on a node of a Galera cluster to look at nothing, neither to read nor to change it, before
// the node has applied what others had committed by then: else a node to which the address has just moved would be
// asked for orders that it does not have yet. The cluster's name stays with the session, for dialect.history.
func meetGalera(ctx context.Context, conn driver.Conn) error {
	name, err := status(ctx, conn, cluster)
	if err != nil || name == "" {
		return err
	}
	if name == noState {
		// Also what a server answers that has the library loaded and is in no cluster.
		on, err := status(ctx, conn, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
		if err != nil || !strings.EqualFold(on, "ON") {
			return err
		}
		return errors.New("the node has not joined its Galera cluster yet")
	}
	for _, r := range name {
		if !strings.ContainsRune("0123456789abcdefABCDEF-", r) {
			return fmt.Errorf("name of the Galera cluster: %q is no UUID", name)
		}
	}
	_, err = conn.(driver.ExecerContext).ExecContext(ctx,
		"SET SESSION wsrep_sync_wait = 7, @stampede_cluster = '"+name+"'", nil)
	return err
}

// connectionsAsked is how many connections oneServer compares: a balancer that spreads them has shown two nodes by
// then.
const connectionsAsked = 6

// oneServer opens some connections at a time and compares who answers. An address that leads to several nodes would
// have two processes rebuild one partition, migrate one schema or move one month at a time, each with a lock of its
// own.
func (s *Store) oneServer(ctx context.Context) error {
	var first string
	for range connectionsAsked {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // only when all were open at once: else the first would be asked six times
		var name string
		err = conn.QueryRowContext(ctx, "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id)").Scan(&name)
		if err != nil {
			return err
		}
		if first == "" {
			first = name
		}
		if name != first {
			return fmt.Errorf("%w: the address leads to %s and to %s (hostname/port/server_id): all connections of "+
				"all nodes have to go to one server, of a Galera cluster to one node at a time",
				app.ErrMisconfigured, first, name)
		}
	}
	return nil
}

// status is the second column of the only row; empty without a row.
func status(ctx context.Context, conn driver.Conn, query string) (string, error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); errors.Is(err, io.EOF) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	if len(row) != 2 {
		return "", fmt.Errorf("%s: %d columns instead of 2", query, len(row))
	}
	switch v := row[1].(type) {
	case []byte:
		return string(v), nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("%s: %T instead of text", query, v)
	}
}
