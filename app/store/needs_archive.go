package store

import (
	"context"
	"errors"
)

// archiveNeeds tries to make a month of the archive and to drop one, in ways that no right makes possible: a partition
// of a name and a bound that are taken, and one that is not there. Who lacks a right hears of that, everybody else what
// is wrong with the statement. nil before the migrations: there is no such table.
func (s *Store) archiveNeeds(ctx context.Context) ([]Need, error) {
	var database string
	var there bool
	err := s.db.QueryRowContext(ctx, "SELECT DATABASE(), EXISTS (SELECT 1 FROM information_schema.tables WHERE"+
		" table_schema = DATABASE() AND table_name = 'orders_archive')").Scan(&database, &there)
	if err != nil || !there {
		return nil, err
	}
	var needs []Need
	for _, trial := range []struct {
		what, rights, statement string
		impossible              []uint16
	}{
		{
			"make months of the archive", "CREATE, ALTER, INSERT",
			"ALTER TABLE orders_archive ADD PARTITION (PARTITION p000000 VALUES LESS THAN (0))",
			[]uint16{mysqlNotIncreasing, mysqlSamePartition},
		},
		{
			"drop months of the archive", "ALTER, DROP",
			"ALTER TABLE orders_archive DROP PARTITION " + scratch,
			[]uint16{mysqlNoPartition, mysqlNoSuchPartition, mysqlLastPartition},
		},
	} {
		what := trial.what + " (GRANT " + trial.rights + " ON " + database + ".orders_archive)"
		err := s.alter(ctx, trial.statement)
		if err == nil {
			err = errors.New("the server did what cannot be done: " + trial.statement)
		}
		if saysMySQL(err, trial.impossible...) {
			err = nil
		}
		needs = append(needs, Need{What: what, Err: wrap(what, err), Archive: true})
	}
	return needs, nil
}

// What the server says of partitions.
const (
	mysqlNotIncreasing   = 1493 // bounds must grow
	mysqlSamePartition   = 1517
	mysqlNoPartition     = 1507 // MariaDB, and MySQL before 8.0.27
	mysqlNoSuchPartition = 1735 // MySQL
	mysqlLastPartition   = 1508 // there is but one
)
