package store

import (
	"context"
	"strconv"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

// Weaknesses names the settings with which this database keeps less than promise P2 needs (an answered commit survives
// the crash of any one process).
func (s *Store) Weaknesses(ctx context.Context) ([]backoffice.WeakSetting, error) {
	if s.writer != nil {
		return []backoffice.WeakSetting{{Risk: "SQLite is for trying out: a crash of the machine may lose the last commits"}}, nil
	}
	var flush, binlog, sync int64
	var doublewrite string // a number in MariaDB, a word in MySQL
	err := s.db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite,"+
		" @@log_bin, @@sync_binlog").Scan(&flush, &doublewrite, &binlog, &sync)
	if err != nil {
		return nil, wrap("read the database's settings", err)
	}
	var found []backoffice.WeakSetting
	weak := func(setting, is, want, risk string) {
		found = append(found, backoffice.WeakSetting{Setting: setting, Is: is, Want: want, Risk: risk})
	}
	if flush != 1 {
		weak("innodb_flush_log_at_trx_commit", strconv.FormatInt(flush, 10), "1", "a crash loses commits that were answered")
	}
	if doublewrite == "0" || doublewrite == "OFF" {
		weak("innodb_doublewrite", "off", "ON", "a crash can tear pages")
	}
	if binlog == 1 && sync != 1 {
		weak("sync_binlog", strconv.FormatInt(sync, 10), "1", "a crash can part replicas from this server")
	}
	return found, nil
}

// Restorable reports whether commits are logged, so that a backup can be brought up to any later instant.
func (s *Store) Restorable(ctx context.Context) (logged bool, err error) {
	if s.writer != nil {
		return false, nil
	}
	err = s.db.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&logged)
	return logged, wrap("read whether the database logs what is committed", err)
}

// Time is the database's clock.
func (s *Store) Time(ctx context.Context) (shop.Millis, error) {
	now, err := s.clock(ctx, s.db)
	return now.At, wrap("read the database's clock", err)
}
