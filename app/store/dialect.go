package store

import "database/sql"

// dialect holds the few words in which the databases differ.
type dialect struct {
	begin     string // starts a transaction that will write
	forUpdate string // ends a SELECT whose rows must not change before the commit
	greatest  string // the larger of its arguments
	now       string // the database's clock, Unix ms
	server    string // identifies the server: 8 hex digits, different after a failover
	history   string // identifies server and generation: 8 hex digits, different after each recovery
	changed   string // when a row of orders was stamped, Unix ms of that clock
	stamp     string // stamps a row of orders
	byValues  string // changes rows of sales by a table of values with a row_id: the table, what is set, where
	onTaken   string // begins the update part of an INSERT that met its primary key
	snapshot  *sql.TxOptions
	defaults  bool // columns of orders have their defaults, see unsaid
}

var mysqlWords = dialect{
	begin:     "START TRANSACTION",
	forUpdate: " FOR UPDATE",
	greatest:  "GREATEST",
	// SYSDATE is the instant of evaluation; NOW is that of the statement's start, before its waits.
	now:     "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)",
	server:  "LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id), 256), 8)",
	history: "LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id, (SELECT generation FROM history)), 256), 8)",
	changed: "CAST(UNIX_TIMESTAMP(changed_at) * 1000 AS SIGNED)",
	stamp:   "changed_at = SYSDATE(3)",
	// In this order of the tables, and so no row is locked that is not in the values.
	byValues: "UPDATE (%[1]s) AS v STRAIGHT_JOIN sales ON sales.id = v.row_id SET %[2]s WHERE %[3]s",
	onTaken:  "ON DUPLICATE KEY UPDATE",
	snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	defaults: true,
}

// On SQLite a write transaction locks the whole file from its start, and a read transaction always sees one instant.
var sqliteWords = dialect{
	begin:    "BEGIN IMMEDIATE",
	greatest: "MAX",
	now:      "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	server:   "'00000001'", // not 00000000, which is nobody's
	history:  "'00000001'",
	changed:  "changed_at",
	stamp:    "changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	byValues: "UPDATE sales SET %[2]s FROM (%[1]s) AS v WHERE sales.id = v.row_id AND %[3]s",
	onTaken:  "ON CONFLICT DO UPDATE SET",
	snapshot: &sql.TxOptions{ReadOnly: true},
}
