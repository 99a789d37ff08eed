package kit

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

//go:embed conf/my.cnf
var mariadbConf []byte

//go:embed conf/mysql-init.sql
var mysqlInit []byte

// sqlServer is the program for private servers: the MySQL or MariaDB that STAMPEDE_TEST_MYSQL_SERVER names, otherwise
// the installed MariaDB.
var sqlServer = sync.OnceValues(func() (sqlProgram, error) {
	path := os.Getenv("STAMPEDE_TEST_MYSQL_SERVER")
	if path == "" {
		path, err := findProgram("mariadbd", "mysqld")
		return sqlProgram{path: path}, err
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		return sqlProgram{}, fmt.Errorf("STAMPEDE_TEST_MYSQL_SERVER: %w", err)
	}
	return sqlProgram{path: path, mysql: !strings.Contains(string(version), "MariaDB")}, nil
})

type sqlProgram struct {
	path  string
	mysql bool // MySQL initialises its own data folder; MariaDB needs a script
}

// MySQL returns the DSN of a new empty database on the shared test MariaDB. The database is dropped when the test ends.
// The DSN has no parameters; the program adds the parameters that it needs. GET_LOCK names are shared by all databases.
func MySQL(t testing.TB) string {
	t.Helper()
	base, err := sharedMariaDB()
	if err != nil {
		t.Fatalf("kit: MariaDB: %v", err)
	}
	name, dsn, err := createDatabase(base)
	if err != nil {
		t.Fatalf("kit: MariaDB: %v", err)
	}
	t.Cleanup(func() {
		// A forgotten open transaction of the test would block the DROP for hours.
		err := execOn(base, "SET lock_wait_timeout = 10", "DROP DATABASE IF EXISTS "+name)
		if err != nil {
			t.Errorf("kit: drop %s (is a transaction still open?): %v", name, err)
		}
	})
	return dsn
}

// createDatabase creates stampede_<random> on the server of the DSN.
func createDatabase(base string) (name, dsn string, err error) {
	cfg, err := mysql.ParseDSN(base)
	if err != nil {
		return "", "", fmt.Errorf("DSN of the server: %w", err)
	}
	name = "stampede_" + strings.ToLower(rand.Text()[:12])
	if err := execOn(base, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return "", "", fmt.Errorf("create a database at %s: %w", cfg.Addr, err)
	}
	cfg.DBName = name
	return name, cfg.FormatDSN(), nil
}

// execOn runs the statements in order on one new connection.
func execOn(dsn string, statements ...string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// sharedMariaDB returns the DSN, without a database name, of the server that all tests share. It starts the server if
// STAMPEDE_TEST_MYSQL is not set.
var sharedMariaDB = sync.OnceValues(func() (string, error) {
	if dsn := os.Getenv("STAMPEDE_TEST_MYSQL"); dsn != "" {
		return dsn, nil
	}
	dir, err := sharedDir("mariadb")
	if err != nil {
		return "", err
	}
	p, dsn, err := startMariaDB(MariaDBOptions{Dir: dir})
	if err != nil {
		return "", err
	}
	atExit.add(p.kill)
	return dsn, nil
})

// MariaDBOptions configures a private MariaDB.
type MariaDBOptions struct {
	Dir  string   // initialised if new; empty: a temporary folder of the test
	Port int      // on 127.0.0.1; 0: a free port
	Conf string   // path of a configuration file; empty: conf/my.cnf
	Args []string // additional command-line arguments
}

// MariaDBServer is a private MariaDB that the test can Kill, Stop, Start again, Pause and Resume.
type MariaDBServer struct {
	server
	DSN string // root, no password, no database name; unchanged after a restart
	Dir string
}

// StartMariaDB starts a private MariaDB that ends with the test. [MariaDBServer.Database] creates a database on it.
func StartMariaDB(t testing.TB, o MariaDBOptions) *MariaDBServer {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	p, dsn, err := startMariaDB(o)
	if err != nil {
		t.Fatalf("kit: MariaDB: %v", err)
	}
	t.Cleanup(p.kill)
	return &MariaDBServer{server: server{t: t, p: p}, DSN: dsn, Dir: o.Dir}
}

// Database creates an empty database and returns its DSN. It exists as long as the server.
func (s *MariaDBServer) Database() string {
	s.t.Helper()
	_, dsn, err := createDatabase(s.DSN)
	if err != nil {
		s.t.Fatalf("kit: MariaDB: %v", err)
	}
	return dsn
}

func startMariaDB(o MariaDBOptions) (*process, string, error) {
	program, err := sqlServer()
	if err != nil {
		return nil, "", err
	}
	conf, err := sqlConf(o)
	if err != nil {
		return nil, "", err
	}
	data := filepath.Join(o.Dir, "data")
	if err := fillDataFolder(data); err != nil {
		return nil, "", err
	}
	var p *process
	var dsn string
	err = onFreePort(o.Port, func(port int) error {
		dsn = "root@tcp(" + loopback(port) + ")/"
		p = &process{
			name:    "mariadb",
			program: program.path,
			dir:     o.Dir,
			args: append([]string{
				"--defaults-file=" + conf, "--datadir=" + data, "--port=" + strconv.Itoa(port),
				// Relative to the data folder, because the path of a Unix socket is limited to 107 bytes.
				"--socket=mysqld.sock", "--pid-file=mysqld.pid",
				// A private folder: a starting server deletes temporary tables in its folder, even those of another
				// server.
				"--tmpdir=" + o.Dir,
			}, append(runAs(), o.Args...)...),
			ready: func() error { return execOn(dsn, "SELECT 1") },
		}
		return p.start()
	})
	return p, dsn, err
}

// sqlConf writes the configuration file to the server's folder and returns its path.
func sqlConf(o MariaDBOptions) (string, error) {
	text := mariadbConf
	if o.Conf != "" {
		var err error
		if text, err = os.ReadFile(o.Conf); err != nil {
			return "", err
		}
	}
	conf := filepath.Join(o.Dir, "my.cnf")
	return conf, os.WriteFile(conf, text, 0o600)
}

// fillDataFolder copies an initialised data folder to data, unless data exists.
func fillDataFolder(data string) error {
	if _, err := os.Stat(data); err == nil {
		return nil
	}
	template, err := dataTemplate()
	if err != nil {
		return err
	}
	return os.CopyFS(data, os.DirFS(template))
}

// dataTemplate initialises one data folder per test binary. Copying it is several times faster than a second
// initialisation.
var dataTemplate = sync.OnceValues(func() (string, error) {
	program, err := sqlServer()
	if err != nil {
		return "", err
	}
	dir, err := sharedDir("mariadb-template")
	if err != nil {
		return "", err
	}
	conf, data, init := filepath.Join(dir, "my.cnf"), filepath.Join(dir, "data"), filepath.Join(dir, "init.sql")
	if err := errors.Join(os.WriteFile(conf, mariadbConf, 0o600), os.WriteFile(init, mysqlInit, 0o600)); err != nil {
		return "", err
	}
	path, args := program.path, []string{"--defaults-file=" + conf, "--datadir=" + data, "--tmpdir=" + dir}
	if program.mysql {
		// MySQL's initial root user may only connect from localhost by name, and name resolution is off.
		args = append(args, "--initialize-insecure", "--init-file="+init)
	} else {
		if path, err = findProgram("mariadb-install-db", "mysql_install_db"); err != nil {
			return "", err
		}
		args = append(args, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	}
	if out, err := exec.Command(path, append(args, runAs()...)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", path, err, out)
	}
	// auto.cnf contains MySQL's server UUID. Servers with the same UUID cannot replicate from each other.
	if err := os.Remove(filepath.Join(data, "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return data, nil
})

// runAs returns the arguments that let root run the server as root. The folders of the tests are readable only by root.
func runAs() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}
