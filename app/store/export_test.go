package store

import "github.com/uptrace/bun"

// HookQueries has the hook called around each query from now on.
func (s *Store) HookQueries(hook bun.QueryHook) { s.db = s.db.WithQueryHook(hook) }
