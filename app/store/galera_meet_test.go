package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"stampede/app/store"
)

// server answers SHOW statements as a MariaDB does, and remembers what it was told.
type server struct {
	driver.Conn

	shows map[string]string // by the name that is asked for; "": no row
	told  []string
}

func (s *server) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	for name, value := range s.shows {
		if strings.Contains(query, "'"+name+"'") {
			return &shown{name, value, value == ""}, nil
		}
	}
	return nil, errors.New("not expected: " + query)
}

func (s *server) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	s.told = append(s.told, query)
	return driver.RowsAffected(0), nil
}

type shown struct {
	name, value string
	read        bool
}

func (*shown) Columns() []string { return []string{"Variable_name", "Value"} }
func (*shown) Close() error      { return nil }

func (r *shown) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	row[0], row[1], r.read = []byte(r.name), []byte(r.value), true
	return nil
}

// P2, F6: on a node of Galera a session waits for what others have committed, and has the cluster's name for its
// history; on any other server nothing is said that it may not know. (`just galera` has a real cluster.)
func TestSessionOnGalera(t *testing.T) {
	t.Parallel()
	const uuid, none = "5be9c29c-e712-11f1-8c35-96787ed4b1af", "00000000-0000-0000-0000-000000000000"
	const waits = "SET SESSION wsrep_sync_wait = 7, @stampede_cluster = '" + uuid + "'"
	for name, c := range map[string]struct {
		uuid, on string
		told     []string
		fails    bool
	}{
		"MySQL":             {},
		"a node":            {uuid, "ON", []string{waits}, false},
		"a node that joins": {none, "ON", nil, true},
		"the library alone": {none, "OFF", nil, false},
		"no UUID":           {"x' OR '", "ON", nil, true},
	} {
		s := &server{shows: map[string]string{"wsrep_cluster_state_uuid": c.uuid, "wsrep_on": c.on}}
		if err := store.MeetGalera(t.Context(), s); (err != nil) != c.fails || !slices.Equal(s.told, c.told) {
			t.Errorf("%s: told %q, %v", name, s.told, err)
		}
	}
}
