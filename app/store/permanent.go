package store

import (
	"crypto/tls"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// MySQL and MariaDB error numbers that waiting does not mend: an account, a setting or the program must change. 1290 is
// not among them: a read-only server returns it until it is the primary again.
var permanentErrors = map[uint16]bool{
	1044: true, // no access to the database
	1045: true, // wrong user or password
	1049: true, // unknown database
	1054: true, // unknown column
	1064: true, // a statement that this server cannot read
	1115: true, // unknown character set
	1130: true, // not from this host
	1142: true, // no privilege for the table
	1143: true, // no privilege for the column
	1146: true, // no such table
	1193: true, // unknown system variable
	1227: true, // a privilege that is missing
	1231: true, // a variable does not take this value
	1235: true, // not supported by this version
	1251: true, // a way of logging in that is not supported
	1273: true, // unknown collation
	1286: true, // unknown storage engine
	1298: true, // unknown time zone
	1305: true, // unknown function
	1370: true, // no privilege for the function
	1524: true, // a way of logging in that is not loaded
	1665: true, // the format of the binary log does not suit the isolation level
	1698: true, // wrong user or password (MariaDB)
	1820: true, // the password has to be changed first
	1862: true, // the password has expired
	3118: true, // the account is locked
	3159: true, // only over TLS
	4151: true, // the account is locked (MariaDB)
}

// permanent reports whether waiting does not mend the error.
func permanent(err error) bool {
	var my *mysql.MySQLError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &my) {
		return permanentErrors[my.Number]
	}
	refusals := []error{
		mysql.ErrNoTLS, mysql.ErrOldProtocol, mysql.ErrOldPassword, mysql.ErrNativePassword, mysql.ErrCleartextPassword,
		mysql.ErrUnknownPlugin,
	}
	return errors.As(err, &certificate) ||
		slices.ContainsFunc(refusals, func(one error) bool { return errors.Is(err, one) })
}
