package store

import (
	"context"
	"strings"

	"github.com/uptrace/bun"
)

// reading is what reads go through: the transaction of the act that the context belongs to, or any connection.
func (s *Store) reading(ctx context.Context) bun.IDB {
	if act := s.actOf(ctx); act != nil {
		return act.conn
	}
	return s.db
}

// containing makes a pattern for LIKE … ESCAPE '!' that finds the text anywhere, whatever signs it has.
func containing(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(text) + "%"
}
