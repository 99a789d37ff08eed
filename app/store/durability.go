package store

import (
	"context"
	"strconv"

	"stampede/app/shop"
)

// WeakSetting is a setting of a store with which it keeps less than the promises need.
type WeakSetting struct {
	Setting string
	Is      string // empty: it cannot be read
	Want    string
	Risk    string
}

// String says it to operators.
func (w WeakSetting) String() string {
	switch {
	case w.Setting == "":
		return w.Risk
	case w.Is == "":
		return w.Setting + " cannot be read: make sure that it is " + w.Want
	}
	return w.Setting + " is " + w.Is + ": " + w.Risk + "; set it to " + w.Want
}

// Weaknesses names the settings with which this database keeps less than promise P2 needs (an answered commit survives
// the crash of any one process).
func (s *Store) Weaknesses(ctx context.Context) ([]WeakSetting, error) {
	if s.writer != nil {
		return []WeakSetting{{Risk: "SQLite is for trying out: a crash of the machine may lose the last commits"}}, nil
	}
	var flush, binlog, sync int64
	var doublewrite string // a number in MariaDB, a word in MySQL
	err := s.db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite,"+
		" @@log_bin, @@sync_binlog").Scan(&flush, &doublewrite, &binlog, &sync)
	if err != nil {
		return nil, wrap("read the database's settings", err)
	}
	var found []WeakSetting
	weak := func(setting, is, want, risk string) {
		found = append(found, WeakSetting{Setting: setting, Is: is, Want: want, Risk: risk})
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
