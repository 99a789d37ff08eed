package kit

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// P2: servers start with the shipped settings in deploy/, and the settings take effect. The loose prefix in my.cnf lets
// MariaDB and MySQL both start with the file; each must apply its own setting of the redo log size.
func TestShippedMySQLSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	server := StartMariaDB(t, MariaDBOptions{Conf: "../../../deploy/my.cnf"})
	db := openMySQL(t, server.Database())
	const logSize = "SHOW GLOBAL VARIABLES WHERE variable_name IN ('innodb_log_file_size', 'innodb_redo_log_capacity')"
	var name, size string
	if err := db.QueryRowContext(Context(t), logSize).Scan(&name, &size); err != nil || size != "536870912" {
		t.Errorf("%s is %s, want 512 MB (%v)", name, size, err)
	}
	var flush, connections int
	const others = "SELECT @@innodb_flush_log_at_trx_commit, @@max_connections"
	if err := db.QueryRowContext(Context(t), others).Scan(&flush, &connections); err != nil || flush != 1 ||
		connections != 300 {
		t.Errorf("flush per commit %d, connections %d: %v", flush, connections, err)
	}
}

// P2: redis.conf takes effect on Redis and Valkey.
func TestShippedRedisSettingsTakeEffect(t *testing.T) {
	t.Parallel()
	server := StartRedis(t, RedisOptions{Conf: "../../../deploy/redis.conf", Durable: true})
	o, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	defer client.Close()
	for setting, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no",
		"maxmemory-policy": "noeviction", "hash-max-listpack-entries": "16",
	} {
		got, err := client.ConfigGet(Context(t), setting).Result()
		if err != nil || got[setting] != want {
			t.Errorf("%s is %q, want %q (%v)", setting, got[setting], want, err)
		}
	}
}
