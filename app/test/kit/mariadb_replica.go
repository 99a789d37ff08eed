package kit

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// StartReplicated starts a private MariaDB or MySQL and a replica that follows it from the first transaction. With
// semiSync, a commit returns only after the replica has written the transaction to its relay log. The replica may not
// have applied the transaction yet.
func StartReplicated(t testing.TB, semiSync bool) (primary, replica *MariaDBServer) {
	t.Helper()
	args := func(id string, semiSyncArgs []string) []string {
		args := []string{"--server-id=" + id, "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1"}
		if isMySQL() {
			args = append(args, "--gtid-mode=ON", "--enforce-gtid-consistency=ON") // always on in MariaDB
		}
		if semiSync {
			args = append(args, semiSyncArgs...)
		}
		return args
	}
	primaryArgs, replicaArgs := semiSyncArgs()
	primary = StartMariaDB(t, MariaDBOptions{Args: args("1", primaryArgs)})
	replica = StartMariaDB(t, MariaDBOptions{Args: args("2", replicaArgs)})
	replica.follow(primary)
	return primary, replica
}

// semiSyncArgs returns arguments for a semi-synchronous primary and its replica. The primary's timeout is longer than
// any test, so no commit returns without the replica. With AFTER_SYNC the primary waits before other sessions see the
// commit; otherwise they could read rows that the replica never gets. The replica itself must not wait: MySQL writes
// applied transactions to its own binary log and would wait there for another replica.
func semiSyncArgs() (primaryArgs, replicaArgs []string) {
	if isMySQL() {
		return []string{
			"--plugin-load-add=semisync_source.so", "--rpl-semi-sync-source-enabled=ON",
			"--rpl-semi-sync-source-timeout=60000", "--rpl-semi-sync-source-wait-point=AFTER_SYNC",
		}, []string{
			"--plugin-load-add=semisync_replica.so", "--rpl-semi-sync-replica-enabled=ON",
		}
	}
	return []string{
		"--rpl-semi-sync-master-enabled=ON",
		"--rpl-semi-sync-master-timeout=60000", "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
	}, []string{"--rpl-semi-sync-slave-enabled=ON"}
}

// isMySQL reports whether private servers are MySQL instead of MariaDB.
func isMySQL() bool {
	program, err := sqlServer()
	return err == nil && program.mysql
}

// replicaSQL translates a MySQL replication statement to the installed server: MariaDB still uses SLAVE.
func replicaSQL(statement string) string {
	if isMySQL() {
		return statement
	}
	return strings.ReplaceAll(statement, "REPLICA", "SLAVE")
}

// Exec runs statements as root on one connection.
func (s *MariaDBServer) Exec(statements ...string) {
	s.t.Helper()
	if err := execOn(s.DSN, statements...); err != nil {
		s.t.Fatalf("kit: %s: %v", statements, err)
	}
}

func (s *MariaDBServer) follow(primary *MariaDBServer) {
	s.t.Helper()
	cfg, err := mysql.ParseDSN(primary.DSN)
	if err != nil {
		s.t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	change := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='root', "+
		"MASTER_LOG_FILE='binlog.000001', MASTER_LOG_POS=4, MASTER_CONNECT_RETRY=1", host, port)
	if isMySQL() {
		change = fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='root', "+
			"SOURCE_LOG_FILE='binlog.000001', SOURCE_LOG_POS=4, SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1", host, port)
	}
	s.Exec(change, replicaSQL("START REPLICA"), "SET GLOBAL read_only = 1")
}

// StopApplying stops the SQL thread. The replica still receives transactions but falls behind.
func (s *MariaDBServer) StopApplying() {
	s.t.Helper()
	s.Exec(replicaSQL("STOP REPLICA SQL_THREAD"))
}

// Apply starts the SQL thread that StopApplying stopped.
func (s *MariaDBServer) Apply() {
	s.t.Helper()
	s.Exec(replicaSQL("START REPLICA SQL_THREAD"))
}

// StopReceiving stops the I/O thread. The replica receives no further transactions.
func (s *MariaDBServer) StopReceiving() {
	s.t.Helper()
	s.Exec(replicaSQL("STOP REPLICA IO_THREAD"))
}

// CatchUp waits until the replica has applied everything that its primary has committed before the call.
func (s *MariaDBServer) CatchUp(primary *MariaDBServer) {
	s.t.Helper()
	primary.Exec("CREATE DATABASE IF NOT EXISTS kit_mark", "CREATE TABLE IF NOT EXISTS kit_mark.mark (n BIGINT)")
	mark := time.Now().UnixNano()
	primary.Exec(fmt.Sprintf("INSERT INTO kit_mark.mark VALUES (%d)", mark))
	Eventually(s.t, startTimeout, func() (bool, string) {
		found, err := s.row(fmt.Sprintf("SELECT COUNT(*) AS n FROM kit_mark.mark WHERE n = %d", mark))
		return err == nil && found["n"] != "0", fmt.Sprintf("the replica is behind: %v", err)
	})
}

// ApplyAll waits until the replica has applied everything it has received. The primary may be dead. Operators do this
// before a promotion.
func (s *MariaDBServer) ApplyAll() {
	s.t.Helper()
	s.Apply()
	Eventually(s.t, startTimeout, func() (bool, string) {
		fields, err := s.row(replicaSQL("SHOW REPLICA STATUS"))
		if err != nil {
			return false, err.Error()
		}
		read, applied := fields["Read_Master_Log_Pos"], fields["Exec_Master_Log_Pos"]
		if read == "" {
			read, applied = fields["Read_Source_Log_Pos"], fields["Exec_Source_Log_Pos"]
		}
		return read == applied, fmt.Sprintf("applied %s of %s", applied, read)
	})
}

// Promote makes the replica a primary with its applied transactions, as an operator does. Received but unapplied
// transactions are discarded.
func (s *MariaDBServer) Promote() {
	s.t.Helper()
	s.Exec(replicaSQL("STOP REPLICA"), replicaSQL("RESET REPLICA ALL"), "SET GLOBAL read_only = 0")
}

// row returns the first row of a result by column name.
func (s *MariaDBServer) row(query string) (map[string]string, error) {
	db, err := sql.Open("mysql", s.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, fmt.Errorf("%s: no row: %w", query, err)
	}
	values, targets := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return nil, err
	}
	fields := make(map[string]string, len(names))
	for i, name := range names {
		fields[name] = values[i].String
	}
	return fields, rows.Err()
}
