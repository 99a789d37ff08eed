package store

import (
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"stampede/app/shop"
)

// dataErrors contains the numbers of MySQL and MariaDB errors that are caused by the values, so that a retry fails
// again. All other errors, including unknown errors, are transient, so that no order is dropped by mistake. The errors
// in statementErrors and misconfiguredErrors are transient, and also indicate a wrong configuration.
var dataErrors = map[uint16]bool{
	1048: true, // column cannot be null
	1062: true, // duplicate entry
	1153: true, // packet bigger than max_allowed_packet
	1264: true, // out of range
	1265: true, // data truncated
	1267: true, // text that the column's character set lacks
	1292: true, // incorrect value
	1300: true, // invalid character string
	1366: true, // incorrect string or integer value
	1406: true, // data too long
	1690: true, // value out of range in an expression
	3819: true, // check constraint (MySQL)
	3988: true, // text that the column's character set lacks (MySQL)
	4025: true, // check constraint (MariaDB)
}

const (
	mysqlDuplicate = 1062
	mysqlLockWait  = 1205
	mysqlDeadlock  = 1213
)

// wrap adds the failed operation and the kind of the error. nil stays nil. An error that already has a kind keeps it.
func wrap(action string, err error) error {
	if err == nil {
		return nil
	}
	if kind := kindOf(err); kind != nil {
		return fmt.Errorf("%s: %w: %w", action, kind, err)
	}
	return fmt.Errorf("%s: %w", action, err)
}

// kindOf classifies an error of the drivers. It returns nil for an error that already has a kind.
func kindOf(err error) error {
	for _, kind := range []error{
		shop.ErrTransient, shop.ErrPermanent, shop.ErrStaleEpoch, shop.ErrNoRow,
	} {
		if errors.Is(err, kind) {
			return nil
		}
	}
	var shopErr *shop.Error
	var mysqlErr *mysql.MySQLError
	var sqliteErr *sqlite.Error
	switch {
	case errors.As(err, &shopErr):
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return shop.ErrNoRow
	case errors.As(err, &mysqlErr) && dataErrors[mysqlErr.Number], errors.Is(err, mysql.ErrPktTooLarge):
		return shop.ErrPermanent
	case errors.As(err, &sqliteErr) && slices.Contains(sqliteDataErrors, sqliteErr.Code()&0xff):
		return shop.ErrPermanent
	case errors.As(err, &mysqlErr) && statementErrors[mysqlErr.Number],
		errors.As(err, &sqliteErr) && sqliteErr.Code()&0xff == sqlite3.SQLITE_ERROR:
		return shop.ErrStatement
	case isMisconfigured(err):
		return shop.ErrMisconfigured
	default:
		return shop.ErrTransient
	}
}

// sqliteDataErrors are primary codes of SQLite, which are in the low byte of a code.
var sqliteDataErrors = []int{
	sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE,
}

// isDuplicate reports whether the error is a duplicate primary or unique key.
func isDuplicate(err error) bool {
	var sqliteErr *sqlite.Error
	return isMySQLError(err, mysqlDuplicate) || errors.As(err, &sqliteErr) &&
		(sqliteErr.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY ||
			sqliteErr.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE)
}

// isMySQLError reports whether the error is a MySQL error with the given number.
func isMySQLError(err error, number uint16) bool {
	var mysqlErr *mysql.MySQLError
	return errors.As(err, &mysqlErr) && mysqlErr.Number == number
}

// withLockedSale adds the sale to the error of a lock wait timeout; it returns other errors unchanged.
func withLockedSale(err error, sale shop.ID) error {
	if isMySQLError(err, mysqlLockWait) {
		return &shop.StuckSale{Sale: sale, Err: err}
	}
	return err
}

// clip limits a note to the given number of characters, the width of its column.
func clip(note string, runes int) string {
	if len(note) <= runes {
		return note
	}
	r := []rune(strings.ToValidUTF8(note, "?"))
	return string(r[:min(runes, len(r))])
}

// statementErrors contains the numbers of MySQL and MariaDB errors of a statement that this server or its schema does
// not support.
var statementErrors = map[uint16]bool{
	1054: true, // unknown column
	1064: true, // statement that this server cannot parse
	1115: true, // unknown character set
	1146: true, // no such table
	1193: true, // unknown system variable
	1235: true, // not supported by this version
	1273: true, // unknown collation
	1305: true, // unknown function
}

// misconfiguredErrors contains the numbers of MySQL and MariaDB errors that do not disappear by themselves: an account,
// a setting or the program must change. 1290 is not in the list: a read-only server returns it until the server is the
// primary again.
var misconfiguredErrors = map[uint16]bool{
	1044: true, // no access to the database
	1045: true, // wrong user or password
	1049: true, // unknown database
	1130: true, // host not allowed
	1142: true, // no privilege for the table
	1143: true, // no privilege for the column
	1227: true, // missing privilege
	1231: true, // wrong value for a variable
	1251: true, // unsupported authentication method
	1286: true, // unknown storage engine
	1298: true, // unknown time zone
	1370: true, // no privilege for the function
	1524: true, // authentication plugin not loaded
	1665: true, // binary log format does not fit the isolation level
	1698: true, // wrong user or password (MariaDB)
	1820: true, // password must be changed first
	1862: true, // password expired
	3118: true, // account locked
	3159: true, // TLS required
	4151: true, // account locked (MariaDB)
}

// isMisconfigured reports whether the error needs a change of the configuration.
func isMisconfigured(err error) bool {
	var mysqlErr *mysql.MySQLError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &mysqlErr) {
		return misconfiguredErrors[mysqlErr.Number]
	}
	authErrors := []error{
		mysql.ErrNoTLS, mysql.ErrOldProtocol, mysql.ErrOldPassword, mysql.ErrNativePassword, mysql.ErrCleartextPassword,
		mysql.ErrUnknownPlugin,
	}
	return errors.As(err, &certificate) ||
		slices.ContainsFunc(authErrors, func(target error) bool { return errors.Is(err, target) })
}
