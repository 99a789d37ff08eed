package store

import (
	"context"
	"fmt"
)

// Weaknesses says, in sentences for an operator, where this database keeps less than promise P2 needs: an
// answered commit survives the crash of any one process. Empty means that nothing was found.
func (s *Store) Weaknesses(ctx context.Context) ([]string, error) {
	if s.writer != nil {
		return []string{"SQLite is for trying out: a crash of the machine may lose the last commits"}, nil
	}
	var flush, binlog, sync int64
	var doublewrite string // a number in MariaDB, a word in MySQL
	err := s.db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite,"+
		" @@log_bin, @@sync_binlog").Scan(&flush, &doublewrite, &binlog, &sync)
	if err != nil {
		return nil, wrap("read the database's settings", err)
	}
	var found []string
	if flush != 1 {
		found = append(found, fmt.Sprintf("innodb_flush_log_at_trx_commit is %d:"+
			" a crash loses commits that were answered; set it to 1", flush))
	}
	if doublewrite == "0" || doublewrite == "OFF" {
		found = append(found, "innodb_doublewrite is off: a crash can tear pages; set it to ON")
	}
	if binlog == 1 && sync != 1 {
		found = append(found,
			fmt.Sprintf("sync_binlog is %d: a crash can part replicas from this server; set it to 1", sync))
	}
	return found, nil
}
