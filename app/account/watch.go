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
	// WatchEvery is how often a node reads revocations.
	WatchEvery = 2 * time.Second
	// watchOverlap is how far back each read goes: transactions stamp rows before they commit, within ten seconds.
	watchOverlap = 15 * time.Second
	watchWithin  = 2 * time.Second
)

// Watch keeps an issuer's revocations and keys up to date with the database, within about two seconds.
type Watch struct {
	Store  *store.Store
	Issuer *Issuer

	mu    sync.Mutex
	since shop.Millis // by the database's clock; 0: everything is to be read
}

// Run reads every two seconds until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	return shop.Repeat(ctx, WatchEvery, "look for revoked tokens", w.RunOnce)
}

// RunOnce reads the revocations since the last look. A node runs it before it serves clients.
func (w *Watch) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchWithin)
	defer cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	found, err := w.Store.Revocations(ctx, w.since)
	if err != nil {
		return fmt.Errorf("look for revoked tokens: %w", err)
	}
	w.Issuer.UseKeys(found.Keys)
	w.add(found.Subjects, found.Now)
	w.since = max(1, found.Now.Add(-watchOverlap))
	return nil
}

// add replaces the issuer's set by one with the subjects and without expired ones, if that changes anything. Callers
// hold mu.
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
