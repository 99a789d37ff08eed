package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/app/snowflake"
)

// Nodes leases node numbers.
type Nodes struct{ *session }

const (
	// leaseDuration is the duration of a lease. While the database is unreachable, a node can mint ids for this time;
	// buys continue until the backlog is full.
	leaseDuration = 10 * time.Minute
	// leaseMargin is the time before the end of the lease at which minting stops.
	leaseMargin = 10 * time.Second
	renewEvery  = 10 * time.Second
)

// NodeLease holds this process's node number and mints its ids. The database's clock limits the lease; the holder
// measures it by the monotonic clock. The last millisecond that ids may carry is stored before any of them is minted.
// Therefore two processes never mint the same id, even after a wrong clock, a pause or a crash (I10).
type NodeLease struct {
	store  *session
	holder string

	renewing sync.Mutex // serialises changes of the lease
	serves   bool       // the holder serves buyers; guarded by renewing

	mu         sync.RWMutex
	minter     *snowflake.Minter
	until      time.Time // by the monotonic clock
	generation int64     // of the database at the last renewal
}

// LeaseNode takes a free node number. ErrTransient: the database cannot be reached, or all numbers are taken.
func (s Nodes) LeaseNode(ctx context.Context) (*NodeLease, error) {
	l := &NodeLease{store: s.session, holder: rand.Text()}
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Mint returns the next id. snowflake.ErrNoGrant: the lease was not renewed in time, or not since the database was
// recovered. A recovery may have lost the lease, and another process may have the number.
func (l *NodeLease) Mint() (shop.ID, error) {
	l.mu.RLock()
	m, generation := l.minter, l.generation
	l.mu.RUnlock()
	if now := l.store.fence.generation(); generation != now {
		return 0, fmt.Errorf("%w: node %d was leased in generation %d of the database, which is at %d",
			snowflake.ErrNoGrant, m.Node(), generation, now)
	}
	return m.Mint()
}

// Node returns the number in the ids that are minted now.
func (l *NodeLease) Node() int { return l.current().Node() }

// Age returns the age of an id, by this node's clock. It returns false if another node minted the id.
func (l *NodeLease) Age(id shop.ID) (time.Duration, bool) {
	m := l.current()
	return m.Now().Sub(snowflake.Time(id)), snowflake.Node(id) == m.Node()
}

// Until returns the end of the lease. Another process may take the number then, unless the lease is renewed.
func (l *NodeLease) Until() time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.until
}

func (l *NodeLease) setLease(m *snowflake.Minter, requestedAt time.Time, generation int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.minter, l.until, l.generation = m, requestedAt.Add(leaseDuration), generation
}

func (l *NodeLease) current() *snowflake.Minter {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.minter
}

// Run renews the lease until ctx ends.
func (l *NodeLease) Run(ctx context.Context) error {
	for shop.Sleep(ctx, renewEvery) {
		if err := l.RunOnce(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "renew the node lease", "node", l.Node(), "err", err)
		}
	}
	return ctx.Err()
}

// RunOnce renews the lease. If another process has taken the number, it leases a new one.
func (l *NodeLease) RunOnce(ctx context.Context) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	m := l.current()
	requestedAt, generation := time.Now(), l.store.fence.generation() // before the database sets the expiry
	ceiling := m.Now().Add(leaseDuration)
	held := false
	err := l.store.inTx(ctx, fmt.Sprintf("renew node %d", m.Node()), func(tx bun.Conn) error {
		matched, err := exec(ctx, tx, "UPDATE node_leases SET expires_at = "+l.store.d.now+" + ?, last_ms = ?,"+
			" serves = ? WHERE node = ? AND holder = ?", leaseDuration.Milliseconds(), ceiling, l.serves,
			m.Node(), l.holder)
		held = matched == 1
		return err
	})
	if err != nil {
		return err
	}
	if !held {
		m.Stop()
		slog.WarnContext(ctx, "another process has taken over this node's number", "node", m.Node())
		return l.acquire(ctx)
	}
	m.Renew(snowflake.Grant{Until: requestedAt.Add(leaseDuration - leaseMargin), Ceiling: ceiling})
	l.setLease(m, requestedAt, generation)
	return nil
}

// Serve marks the holder as serving buyers, with this and each further renewal.
func (l *NodeLease) Serve(ctx context.Context) error {
	l.renewing.Lock()
	l.serves = true
	l.renewing.Unlock()
	return l.RunOnce(ctx)
}

// servingTimeout is the time after its last renewal for which a node counts as serving.
const servingTimeout = 3 * renewEvery

// ServingNodes counts the nodes that serve buyers and renewed their lease within servingTimeout.
func (s Nodes) ServingNodes(ctx context.Context) (n int, err error) {
	err = s.db.NewRaw("SELECT COUNT(*) FROM node_leases WHERE serves = 1 AND expires_at > "+s.d.now+" + ?",
		(leaseDuration-servingTimeout).Milliseconds()).Scan(ctx, &n)
	return n, wrap("count the nodes that serve", err)
}

// sightingLife is how long the data of the shop count as present in the Redis of a node after the node last saw them.
// Each node looks every two seconds.
const sightingLife = 6 * time.Second

// RecordSighting records whether the holder of a lease sees the data of this shop in its Redis.
func (s Nodes) RecordSighting(ctx context.Context, l *NodeLease, seen bool) error {
	at := "0"
	if seen {
		at = s.d.now
	}
	_, err := s.run(ctx, "record the sighting of Redis", "UPDATE node_leases SET redis_at = "+at+" WHERE node = ? AND holder = ?",
		l.Node(), l.holder)
	return err
}

// SeenElsewhere counts the other nodes that see the data of this shop in their Redis. l is nil for a command.
func (s Nodes) SeenElsewhere(ctx context.Context, l *NodeLease) (n int, err error) {
	holder := ""
	if l != nil {
		holder = l.holder
	}
	err = s.db.NewRaw("SELECT COUNT(*) FROM node_leases WHERE redis_at > "+s.d.now+" - ? AND holder <> ?",
		sightingLife.Milliseconds(), holder).Scan(ctx, &n)
	return n, wrap("count the nodes that see Redis", err)
}

// Release frees the number at once. Run must have ended; no id is minted afterwards.
func (l *NodeLease) Release(ctx context.Context) error {
	l.renewing.Lock()
	defer l.renewing.Unlock()
	m := l.current()
	last := m.Stop()
	return l.store.inTx(ctx, fmt.Sprintf("release node %d", m.Node()), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE node_leases SET expires_at = 0, last_ms = ?, serves = 0, redis_at = 0 WHERE node = ? AND holder = ?",
			last, m.Node(), l.holder)
		return err
	})
}

func (l *NodeLease) acquire(ctx context.Context) error {
	for {
		var m *snowflake.Minter
		requestedAt, generation := time.Now(), l.store.fence.generation()
		err := l.store.inTx(ctx, "lease a node number", func(tx bun.Conn) (err error) {
			m, err = l.lease(ctx, tx)
			return err
		})
		if isDuplicate(err) {
			continue // another process inserted the same new number; the next attempt finds that row
		}
		if err != nil {
			return err
		}
		l.setLease(m, requestedAt, generation)
		return nil
	}
}

// lease makes one attempt to get a number: the lowest number whose lease has ended, otherwise a new number.
func (l *NodeLease) lease(ctx context.Context, tx bun.Conn) (*snowflake.Minter, error) {
	d := l.store.d
	requestedAt := time.Now()
	var node int
	err := tx.QueryRowContext(ctx, "SELECT node FROM node_leases WHERE expires_at < "+d.now+
		" ORDER BY node LIMIT 1"+d.forUpdate).Scan(&node)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if node, err = addNode(ctx, tx); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	var above, now shop.Millis
	err = tx.QueryRowContext(ctx, "SELECT last_ms, "+d.now+" FROM node_leases WHERE node = ?", node).Scan(&above, &now)
	if err != nil {
		return nil, err
	}
	ceiling := max(now, above).Add(leaseDuration)
	err = execMatching(ctx, tx, 1, "lease a locked node number",
		"UPDATE node_leases SET holder = ?, expires_at = "+d.now+" + ?, last_ms = ?, serves = ?,"+
			" redis_at = 0 WHERE node = ?", l.holder, leaseDuration.Milliseconds(), ceiling, l.serves, node)
	if err != nil {
		return nil, err
	}
	m, err := snowflake.New(node, above, now, time.Now)
	if err != nil {
		return nil, err
	}
	m.Renew(snowflake.Grant{Until: requestedAt.Add(leaseDuration - leaseMargin), Ceiling: ceiling})
	return m, nil
}

// addNode inserts the row of the next number. Rows are never deleted, so there are no gaps.
func addNode(ctx context.Context, tx bun.Conn) (int, error) {
	var node int
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(node), 0) + 1 FROM node_leases").Scan(&node); err != nil {
		return 0, err
	}
	if node > snowflake.MaxNode {
		return 0, fmt.Errorf("%w: all %d node numbers are leased", shop.ErrTransient, snowflake.MaxNode)
	}
	_, err := exec(ctx, tx, "INSERT INTO node_leases (node, holder, expires_at, last_ms) VALUES (?, '', 0, 0)", node)
	return node, err
}
