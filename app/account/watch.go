package account

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// WatchEvery is the interval at which a node reads revocations.
	WatchEvery = 2 * time.Second
	// watchOverlap is the overlap of consecutive reads. It exceeds ten seconds, because a transaction may set its
	// timestamp up to ten seconds before its commit.
	watchOverlap = 15 * time.Second
	watchTimeout = 2 * time.Second
)

// Watch copies revocations and keys from the database to an issuer within about two seconds.
type Watch struct {
	Store  *store.Store
	Issuer *Issuer

	mu    sync.Mutex
	since shop.Millis // start of the next read, in database time; 0: read all revocations
}

// Run calls RunOnce every two seconds until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	return shop.Repeat(ctx, WatchEvery, "read revoked tokens", w.RunOnce)
}

// RunOnce reads the keys and the revocations since the previous read. A node calls RunOnce before it serves clients.
func (w *Watch) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	found, err := w.Store.Sessions().Revocations(ctx, w.since)
	if err != nil {
		return fmt.Errorf("read revoked tokens: %w", err)
	}
	w.Issuer.UseKeys(found.Keys)
	w.add(found.Subjects, found.Now)
	w.since = max(1, found.Now.Add(-watchOverlap))
	return nil
}

// add adds the subjects to the issuer's set and removes expired ones. It replaces the set only if the content changes.
// Callers hold mu.
func (w *Watch) add(subjects []shop.Revocation, now shop.Millis) {
	known := *w.Issuer.revoked.Load()
	changed := false
	for _, until := range known {
		changed = changed || until <= now
	}
	for _, r := range subjects {
		changed = changed || known[r.Subject] < r.Until
	}
	if !changed {
		return
	}
	next := maps.Clone(known)
	maps.DeleteFunc(next, func(_ shop.ID, until shop.Millis) bool { return until <= now })
	for _, r := range subjects {
		next[r.Subject] = max(next[r.Subject], r.Until)
	}
	w.Issuer.revoked.Store(&next)
}
