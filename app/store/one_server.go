package store

import (
	"context"
	"fmt"

	"stampede/app/shop"
)

// connectionsCompared is how many connections oneServer compares. A balancer that distributes connections has used two
// servers by then.
const connectionsCompared = 6

// oneServer opens several connections at a time and compares their servers. Locks by name (GET_LOCK) hold on one server
// only, on a Galera cluster too. If the address leads to several servers, two processes can recover one partition,
// migrate one schema or move one month at the same time.
func (s *Store) oneServer(ctx context.Context) error {
	var first string
	for range connectionsCompared {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // all stay open until the end: otherwise the pool returns the first one six times
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
				shop.ErrMisconfigured, first, name)
		}
	}
	return nil
}
