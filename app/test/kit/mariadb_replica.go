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

// StartReplicated starts a private MariaDB, or MySQL, and a replica that follows it from its first transaction on.
// semiSync has a commit answered only once the replica has it in its relay log, not yet applied.
func StartReplicated(t testing.TB, semiSync bool) (primary, replica *MariaDBServer) {
	t.Helper()
	args := func(id string, semiSyncArgs []string) []string {
		args := []string{"--server-id=" + id, "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1"}
		if isMySQL() {
			args = append(args, "--gtid-mode=ON", "--enforce-gtid-consistency=ON") // as MariaDB always does
		}
		if semiSync {
			args = append(args, semiSyncArgs...)
		}
		return args
	}
	ofPrimary, ofReplica := semiSyncArgs()
	primary = StartMariaDB(t, MariaDBOptions{Args: args("1", ofPrimary)})
	replica = StartMariaDB(t, MariaDBOptions{Args: args("2", ofReplica)})
	replica.follow(primary)
	return primary, replica
}

// semiSyncArgs have a primary wait for its replica longer than any test takes, so that no commit is answered without
// it, and before others see what was committed: after that they would read rows that the replica may never get. The
// replica waits for nobody: MySQL writes what it applies to a log of its own, and would wait there for a replica of the
// replica.
func semiSyncArgs() (ofPrimary, ofReplica []string) {
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

// isMySQL reports whether private servers are MySQL, not MariaDB.
func isMySQL() bool {
	program, err := sqlServer()
	return err == nil && program.mysql
}

// replicaSQL is a statement of MySQL with the word that MariaDB has kept.
func replicaSQL(statement string) string {
	if isMySQL() {
		return statement
	}
	return strings.ReplaceAll(statement, "REPLICA", "SLAVE")
}

// Exec runs statements as root, on one connection.
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

// StopApplying has the replica take what its primary sends without applying it, as one does that is behind.
func (s *MariaDBServer) StopApplying() {
	s.t.Helper()
	s.Exec(replicaSQL("STOP REPLICA SQL_THREAD"))
}

// Apply ends StopApplying.
func (s *MariaDBServer) Apply() {
	s.t.Helper()
	s.Exec(replicaSQL("START REPLICA SQL_THREAD"))
}

// StopReceiving has the replica take nothing more of what its primary sends, for good.
func (s *MariaDBServer) StopReceiving() {
	s.t.Helper()
	s.Exec(replicaSQL("STOP REPLICA IO_THREAD"))
}

// CatchUp returns when the replica has applied everything that its primary has committed by now.
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

// ApplyAll returns when the replica has applied all that it had received of its primary, which may be gone: what an
// operator does before a promotion.
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

// Promote makes a primary of the replica with what it has applied, as an operator does; what it had only received is
// thrown away.
func (s *MariaDBServer) Promote() {
	s.t.Helper()
	s.Exec(replicaSQL("STOP REPLICA"), replicaSQL("RESET REPLICA ALL"), "SET GLOBAL read_only = 0")
}

// row is the only row of an answer, by the names of its columns.
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
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	fields := make(map[string]string, len(names))
	for i, name := range names {
		fields[name] = values[i].String
	}
	return fields, rows.Err()
}
