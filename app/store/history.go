package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// History keeps the history of the database server, which shows a failover.
type History struct{ *session }

// revsPerGeneration separates the revs of an order before a recovery from those after it. If the database loses a
// published state, a later state must have a higher rev. An order never has as many states and changes as this. A
// generation is at least the time of its begin in tenths of a second since 1970, so JSON numbers represent revs exactly
// until 2078.
const revsPerGeneration = 1 << 18

// nextRev is the rev of the next state of an order, as SQL. nextRevOf computes the same value.
func (s *session) nextRev() string {
	return s.d.greatest + "(rev, " + strconv.FormatInt(s.fence.generation()*revsPerGeneration, 10) + ") + 1"
}

func (s *session) nextRevOf(o *shop.Order) int {
	return max(o.Rev, int(s.fence.generation()*revsPerGeneration)) + 1
}

// addHistory inserts the row of the history if it is missing.
func (s History) addHistory(ctx context.Context, tx bun.Conn) error {
	_, err := exec(ctx, tx, "INSERT INTO history (id, server, generation, beat) SELECT 1, "+s.d.server+
		", 0, 0 FROM (SELECT COUNT(*) AS n FROM history) AS h WHERE n = 0")
	return err
}

// Read reads the id of the server, its history and its replication state, all on one connection.
func (s History) Read(ctx context.Context) (h shop.DatabaseHistory, err error) {
	conn, err := s.conns.Conn(ctx)
	if err != nil {
		return h, wrap("read the history of the database", err)
	}
	defer conn.Close()
	h, err = s.historyRow(ctx, conn)
	if s.writer != nil { // SQLite
		h.Single = true
	} else if err == nil {
		err = s.replication(ctx, conn, &h)
	}
	return h, wrap("read the history of the database", err)
}

func (s History) historyRow(ctx context.Context, db bun.IDB) (h shop.DatabaseHistory, err error) {
	err = db.QueryRowContext(ctx, "SELECT "+s.d.server+", server, generation, beat, "+s.gap()+" FROM history").
		Scan(&h.Server, &h.RecoveredServer, &h.Generation, &h.Beat, &h.Gap)
	return h, err
}

// replication reads the server's state as a source and as a replica.
func (s History) replication(ctx context.Context, conn bun.Conn, h *shop.DatabaseHistory) error {
	variables, err := readPairs(ctx, conn, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')"+
		" OR Variable_name LIKE 'rpl\\_semi\\_sync\\_%'")
	if err != nil {
		return err
	}
	status, err := readPairs(ctx, conn, "SHOW GLOBAL STATUS WHERE Variable_name IN ('rpl_semi_sync_master_status',"+
		" 'rpl_semi_sync_source_status', 'wsrep_cluster_status', 'slaves_connected')")
	if err != nil {
		return err
	}
	for _, role := range []string{"master", "source"} { // MySQL has used both words; MariaDB uses "master"
		prefix := "rpl_semi_sync_" + role + "_"
		if variables[prefix+"enabled"] != "on" && variables[prefix+"enabled"] != "1" {
			continue
		}
		wait, _ := strconv.Atoi(variables[prefix+"timeout"])
		active := status[prefix+"status"] == "on"
		h.Fallback = !active
		// The last two settings must not be "off", because the server would then not wait without a connected replica.
		h.Lossless = active && variables[prefix+"wait_point"] == "after_sync" && wait >= minSemiSyncTimeout &&
			variables[prefix+"wait_no_slave"] != "off" && variables[prefix+"wait_no_replica"] != "off"
	}
	h.Single = status["slaves_connected"] == "0" // only MariaDB has this number
	h.Lossless = h.Lossless || variables["wsrep_on"] == "on" && status["wsrep_cluster_status"] == "primary"
	if variables["read_only"] == "on" || variables["read_only"] == "1" {
		h.UnfitReason = "the server is read-only"
		return nil
	}
	if reason := applyingRelayLog(ctx, conn); reason != "" {
		h.UnfitReason = reason
	}
	return nil
}

// minSemiSyncTimeout is the minimum timeout of semi-synchronous replication, in milliseconds. With a shorter timeout,
// the replication could fall back to asynchronous and lose commits between two beats, and no node would notice.
const minSemiSyncTimeout = 10_000

// readPairs reads names and values, converted to lower case.
func readPairs(ctx context.Context, conn bun.Conn, query string) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[string]string)
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		found[strings.ToLower(name)] = strings.ToLower(value)
	}
	return found, rows.Err()
}

// applyingRelayLog returns a reason if the server still applies the relay log that it received as a replica, otherwise
// "". Without the privilege for SHOW REPLICA STATUS the state is unknown: the operator must then make the server
// writable only after its relay log is applied.
func applyingRelayLog(ctx context.Context, conn bun.Conn) string {
	rows, err := conn.QueryContext(ctx, "SHOW REPLICA STATUS")
	if err != nil {
		return ""
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return ""
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if rows.Scan(into...) != nil {
		return ""
	}
	status := make(map[string]string, len(names))
	for i, name := range names {
		status[strings.NewReplacer("Slave", "Replica", "Master", "Source").Replace(name)] = values[i].String
	}
	applied := status["Source_Log_File"] == status["Relay_Source_Log_File"] &&
		status["Read_Source_Log_Pos"] == status["Exec_Source_Log_Pos"]
	if status["Replica_SQL_Running"] != "Yes" || applied {
		return ""
	}
	return "the server still applies its relay log"
}

// maxBeatAge is the time without a beat after which commits may have been lost unnoticed.
const maxBeatAge = time.Minute

// doubtMargin covers differences between the clocks of the database and of Redis, which sets created_at.
const doubtMargin = time.Minute

// gap is a condition: no beat was raised for maxBeatAge, and the last node was not stopped as planned.
func (s *session) gap() string {
	return "beat_at > 0 AND stopped = 0 AND " + s.d.now + " - beat_at > " +
		strconv.FormatInt(maxBeatAge.Milliseconds(), 10)
}

// doubt is the value of doubt_until for a doubt that begins now, as SQL. Its argument is the present Redis time. No
// doubt begins in a shop that never had a payment gateway.
func (s *session) doubt() string {
	return "CASE WHEN EXISTS (SELECT 1 FROM settings WHERE name = '" + settingGateway + "') THEN " + s.d.greatest +
		"(doubt_until, " + s.d.now + " + " + strconv.FormatInt(doubtMargin.Milliseconds(), 10) + ", ? + " +
		strconv.FormatInt(doubtMargin.Milliseconds(), 10) + ") ELSE doubt_until END"
}

// BeginDoubt begins a doubt before a recovery restores lost writes; now is the Redis time.
func (s History) BeginDoubt(ctx context.Context, now shop.Millis) error {
	_, err := s.run(ctx, "begin a doubt", "UPDATE history SET doubt_until = "+s.doubt(), now)
	return err
}

// RaiseBeat adds 1 to the beat of the history, and returns the new history. If no beat was raised for maxBeatAge, a
// doubt begins in the same statement; now is the Redis time. ErrStaleEpoch: the history belongs to another server or
// generation.
func (s History) RaiseBeat(
	ctx context.Context, h shop.DatabaseHistory, now shop.Millis,
) (shop.DatabaseHistory, error) {
	// MySQL assigns from left to right: the gap is evaluated before beat_at changes.
	matched, err := exec(ctx, s.db, "UPDATE history SET doubt_until = CASE WHEN "+s.gap()+" THEN "+s.doubt()+
		" ELSE doubt_until END, beat = beat + 1, beat_at = "+s.d.now+", stopped = 0"+
		" WHERE server = ? AND server = "+s.d.server+" AND generation = ?", now, h.Server, h.Generation)
	if err == nil && matched == 0 {
		err = fmt.Errorf("%w: the history is not that of server %s in generation %d", shop.ErrStaleEpoch, h.Server,
			h.Generation)
	}
	if err != nil {
		return h, wrap("raise the beat", err)
	}
	return s.Read(ctx) // after the commit, which may have waited until semi-synchronous replication fell back
}

// Stop records that a node stopped as planned. A node that still runs removes the record with its next beat.
func (s History) Stop(ctx context.Context, h shop.DatabaseHistory) error {
	_, err := exec(ctx, s.db, "UPDATE history SET stopped = 1 WHERE server = ? AND server = "+s.d.server+
		" AND generation = ?", h.Server, h.Generation)
	return wrap("record the stop of a node", err)
}

// NewGeneration starts a generation of the database on this server. The new generation is 1 + the larger of the stored
// generation and `above`. It also raises the epoch of every partition above the stored and the given epoch, so that no
// transaction of an older epoch takes units afterwards. A doubt begins; now is the Redis time. ErrStaleEpoch: the
// history differs from `previous`; nothing is changed.
func (s History) NewGeneration(
	ctx context.Context, previous shop.DatabaseHistory, above int64, epochs map[int]int64, now shop.Millis,
) error {
	return s.inTx(ctx, "start a generation", func(tx bun.Conn) error {
		matched, err := exec(ctx, tx, "UPDATE history SET generation = "+s.d.greatest+"(generation, ?) + 1, server = "+
			s.d.server+", doubt_until = "+s.doubt()+", beat_at = "+s.d.now+", stopped = 0"+
			" WHERE generation = ? AND server = ? AND ? = "+s.d.server, above, now, previous.Generation,
			previous.RecoveredServer, previous.Server)
		if err != nil {
			return err
		}
		if matched == 0 {
			return fmt.Errorf("%w: another process has started a generation", shop.ErrStaleEpoch)
		}
		var partitions []int
		if err := tx.NewRaw("SELECT id FROM partitions ORDER BY id").Scan(ctx, &partitions); err != nil {
			return err
		}
		for _, p := range partitions {
			if _, err := s.Partitions().advanceEpoch(ctx, tx, p, epochs[p]); err != nil {
				return err
			}
		}
		return nil
	})
}

// WatchPayments schedules checks at the gateway for every pending order, because its payment may have been opened. It
// returns how many orders were not watched before.
func (s Payments) WatchPayments(ctx context.Context, w shop.PaymentWatch) (n int, err error) {
	var ids []shop.ID
	err = s.db.NewRaw("SELECT id FROM orders LEFT JOIN trades ON order_id = id WHERE state = ? AND order_id IS NULL",
		shop.Pending).Scan(ctx, &ids)
	if err != nil {
		return 0, wrap("list pending orders without a trade", err)
	}
	w.Spread = max(w.Spread, time.Duration(len(ids))*w.PerOrder)
	for chunk := range sortedChunks(ids) {
		err := s.inTx(ctx, "watch for payments", func(tx bun.Conn) error { return s.watch(ctx, tx, chunk, w) })
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// watch inserts trades that are not known to be opened. It spreads their first checks over w.Spread.
func (s Payments) watch(ctx context.Context, tx bun.Conn, orders []shop.ID, w shop.PaymentWatch) error {
	_, err := exec(ctx, tx, "INSERT INTO trades (order_id, opened_at, expires_at, check_at)"+
		" SELECT id, 0, pay_by - ?, ? + id % ? FROM orders WHERE id IN (?) "+s.d.onDuplicate+
		" check_at = trades.check_at", w.Margin.Milliseconds(), w.Now, max(w.Spread.Milliseconds(), 1),
		bun.List(orders))
	return err
}

// EndLost ends the pending orders that still have their first hold, because Redis has lost these holds. Orders that are
// due at the instant now become expired, the others cancelled (ReasonRecovered). It returns all existing rows, in their
// new states. ErrTransient: the row of a sale is locked.
func (s Orders) EndLost(ctx context.Context, orders []shop.ID, now shop.Millis) ([]shop.Order, error) {
	rows, err := s.endDue(ctx, orders, ending{shop.Expired, shop.ReasonRecovered, now}, func(o *shop.Order) bool {
		return o.State == shop.Pending && o.Hold == 1 && o.PayBy <= now
	})
	if err != nil {
		return rows, err
	}
	held := func(o *shop.Order) bool { return o.State == shop.Pending && o.Hold == 1 }
	rows, err = s.endDue(ctx, orders, ending{shop.Cancelled, shop.ReasonRecovered, now}, held)
	for i := range rows {
		if err == nil && held(&rows[i]) {
			err = fmt.Errorf("%w: the row of sale %s is locked", shop.ErrTransient, rows[i].Sale)
		}
	}
	return rows, err
}

// WriteOff counts units as withdrawn that Redis neither holds nor sells, under the given epoch. ErrStaleEpoch: the sale
// has another epoch, or fewer units are free.
func (s Sales) WriteOff(ctx context.Context, sale shop.ID, units, epoch int64) error {
	return s.inTx(ctx, fmt.Sprintf("write off %d units of sale %s", units, sale), func(tx bun.Conn) error {
		matched, err := exec(ctx, tx, "UPDATE sales SET withdrawn = withdrawn + ? WHERE id = ? AND epoch = ?"+
			" AND taken + withdrawn + ? <= initial + added", units, sale, epoch, units)
		if err == nil && matched == 0 {
			err = fmt.Errorf("%w: the sale has another epoch, or too few free units", shop.ErrStaleEpoch)
		}
		return err
	})
}
