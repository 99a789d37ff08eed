package store

import (
	"context"

	"stampede/app"
)

// UsersPage lists accounts that are not deleted, the newest first..
func (s *Store) UsersPage(ctx context.Context, q app.UsersQuery) (page []app.User, more bool, err error) {
	var rows []userRow
	sel := s.db.NewSelect().Model(&rows).Where("state <> ?", app.UserDeleted).Order("id DESC").Limit(int64(q.Limit) + 1)
	if q.Role != "" {
		sel = sel.Where("role = ?", q.Role)
	}
	if q.Before != 0 {
		sel = sel.Where("id < ?", q.Before)
	}
	if err := sel.Scan(ctx); err != nil {
		return nil, false, wrap("list users", err)
	}
	page, more = cut(convert(rows, (*userRow).user), q.Limit)
	return page, more, nil
}
