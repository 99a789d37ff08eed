package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/migrations/sqllock"
)

// Durability checks the guarantees of the server.
type Durability struct{ *session }

// WeakSetting is a database setting that is too weak for the promises of the program.
type WeakSetting struct {
	Setting string
	Is      string // "": the setting cannot be read
	Want    string
	Risk    string
}

// String describes the setting to operators.
func (w WeakSetting) String() string {
	switch {
	case w.Setting == "":
		return w.Risk
	case w.Is == "":
		return w.Setting + " cannot be read: make sure that it is " + w.Want
	}
	return w.Setting + " is " + w.Is + ": " + w.Risk + "; set it to " + w.Want
}

// Weaknesses lists the settings that are too weak for promise P2 (an acknowledged commit survives the crash of any
// one process).
func (s Durability) Weaknesses(ctx context.Context) ([]WeakSetting, error) {
	if s.writer != nil {
		return []WeakSetting{{Risk: "SQLite is for trials: a crash of the machine can lose the last commits"}}, nil
	}
	var flush, binlog, sync int64
	var doublewrite string // a number in MariaDB, a string in MySQL
	err := s.db.QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite,"+
		" @@log_bin, @@sync_binlog").Scan(&flush, &doublewrite, &binlog, &sync)
	if err != nil {
		return nil, wrap("read the database's settings", err)
	}
	var found []WeakSetting
	addWeakness := func(setting, is, want, risk string) {
		found = append(found, WeakSetting{Setting: setting, Is: is, Want: want, Risk: risk})
	}
	if flush != 1 {
		addWeakness("innodb_flush_log_at_trx_commit", strconv.FormatInt(flush, 10), "1", "a crash loses confirmed commits")
	}
	if doublewrite == "0" || doublewrite == "OFF" {
		addWeakness("innodb_doublewrite", "off", "ON", "a crash can tear pages")
	}
	if binlog == 1 && sync != 1 {
		addWeakness("sync_binlog", strconv.FormatInt(sync, 10), "1", "a crash can make replicas differ from this server")
	}
	return found, nil
}

// Restorable reports whether commits are logged, so that a backup can be rolled forward to any later instant.
func (s Durability) Restorable(ctx context.Context) (logged bool, err error) {
	if s.writer != nil {
		return false, nil
	}
	err = s.db.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&logged)
	return logged, wrap("read whether the database logs commits", err)
}

// Time returns the database's clock.
func (s Durability) Time(ctx context.Context) (shop.Millis, error) {
	now, err := s.clock(ctx, s.db)
	return now.At, wrap("read the database's clock", err)
}

// scratchName is the prefix of the name of the table that Needs creates and drops, and the key of the row that Needs
// writes.
const scratchName = "stampede_checkconfig"

// Need is the result of a test of one operation that the program needs.
type Need struct {
	What    string // e.g. "take locks by name"
	Err     error  // nil: it succeeded
	Migrate bool   // only migrations need it
}

// Needs tests the operations of the program on MySQL or MariaDB: named locks, a single server, its statements and those
// of migrations. It leaves no table or row in the database. It does not check settings or versions.
func (s Durability) Needs(ctx context.Context) []Need {
	if s.writer != nil {
		return nil
	}
	lock := sqllock.Lock{Name: "stampede:checkconfig", Wait: 5 * time.Second, MaxIdle: 10 * time.Second}
	var needs []Need
	addResult := func(action string, migrate bool, err error) {
		needs = append(needs, Need{What: action, Err: wrap(action, err), Migrate: migrate})
	}
	addResult("take locks by name", false, lock.Hold(ctx, s.conns, func(context.Context) error { return nil }))
	addResult("reach one server with all connections", false, s.oneServer(ctx))
	scratchTable := scratchName + "_" + strings.ToLower(rand.Text()[:10])
	created := s.execDDL(ctx, "CREATE TABLE "+scratchTable+" (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(255) NULL)"+
		" ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin")
	addResult("make tables (CREATE)", true, created)
	table := "settings" // exists once the schema is migrated
	if created == nil {
		table = scratchTable
		addResult("change tables (ALTER)", true, s.execDDL(ctx, "ALTER TABLE "+scratchTable+" ALTER COLUMN value SET DEFAULT ''"))
		addResult("make indexes (INDEX)", true, s.execDDL(ctx, "CREATE INDEX scratch_value ON "+scratchTable+" (value)"))
	}
	addResult("read and write rows (SELECT, INSERT, UPDATE, DELETE)", false, s.tryRows(ctx, table))
	addResult("read a consistent snapshot", false, s.inSnapshot(ctx, "", func(tx bun.Tx) error {
		var n int64
		return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n)
	}))
	addResult("store pictures (max_allowed_packet)", false, s.acceptsPictures(ctx))
	if created == nil {
		addResult("drop tables (DROP)", true, s.execDDL(ctx, "DROP TABLE "+scratchTable))
	}
	return needs
}

// minPacket is the packet that a row with the two sizes of a picture needs, in bytes.
const minPacket = 8 << 20

func (s Durability) acceptsPictures(ctx context.Context) error {
	var packet int64
	err := s.db.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&packet)
	if err == nil && packet < minPacket {
		err = fmt.Errorf("%w: max_allowed_packet is %d, want at least %d", shop.ErrMisconfigured, packet, minPacket)
	}
	return err
}

func (s Durability) execDDL(ctx context.Context, statement string) error {
	_, err := s.db.ExecContext(ctx, statement)
	return err
}

// errUndo rolls back the transaction of a test.
var errUndo = errors.New("a test is rolled back")

// tryRows runs the kinds of statements of the program in one transaction, and rolls it back.
func (s Durability) tryRows(ctx context.Context, table string) error {
	err := s.tryTx(ctx, func(tx bun.Conn) error {
		insert := "INSERT INTO " + table + " (name, value) VALUES ('" + scratchName + "', '1')"
		for _, statement := range []string{
			insert,
			insert + " " + s.d.onDuplicate + " value = '2'",
			"UPDATE " + table + " SET value = " + s.d.greatest + "(3, " + s.d.now + ") WHERE name = '" + scratchName + "'",
			"SELECT value FROM " + table + " WHERE name = '" + scratchName + "'" + s.d.forUpdate,
			"DELETE FROM " + table + " WHERE name = '" + scratchName + "'",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// connectionsCompared is the number of connections that oneServer compares. A load balancer sends this number of
// connections to at least two servers.
const connectionsCompared = 6

// oneServer opens several connections at once and compares their servers. Named locks (GET_LOCK) hold on one server
// only, also in a Galera cluster. If the address leads to several servers, two processes can recover one partition,
// migrate one schema or move one month at the same time.
func (s Durability) oneServer(ctx context.Context) error {
	var first string
	for range connectionsCompared {
		conn, err := s.conns.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // all stay open until the end, otherwise the pool returns the first connection each time
		var name string
		err = conn.QueryRowContext(ctx, "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id)").Scan(&name)
		if err != nil {
			return err
		}
		if first == "" {
			first = name
		}
		if name != first {
			return fmt.Errorf("%w: the address leads to %s and to %s (hostname/port/server_id): all connections of "+
				"all nodes have to go to one server, of a Galera cluster to one node at a time",
				shop.ErrMisconfigured, first, name)
		}
	}
	return nil
}
