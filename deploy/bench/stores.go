package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// stores are the private Redis and MariaDB of the run.
type stores struct {
	redisURL string
	dsn      string
	server   *sql.DB
	pids     map[string]int // process ids by name: redis, database
}

// mariadbSettings are statements that set MariaDB's sizes to those of deploy/my.cnf. The stores are already durable.
// openStores also disables rewrites of the append-only file of Redis, because a rewrite would slow one of two
// compared programs by chance.
var mariadbSettings = []string{
	"SET GLOBAL innodb_buffer_pool_size = 1073741824",
	"SET GLOBAL innodb_log_file_size = 536870912",
}

func openStores(ctx context.Context) (*stores, error) {
	s := &stores{redisURL: os.Getenv("STAMPEDE_TEST_REDIS"), dsn: os.Getenv("STAMPEDE_TEST_MYSQL")}
	if s.redisURL == "" || s.dsn == "" {
		return nil,
			errors.New("STAMPEDE_TEST_REDIS and STAMPEDE_TEST_MYSQL are not set: deploy/scripts/bench.sh sets them")
	}
	var err error
	if s.server, err = sql.Open("mysql", s.dsn); err != nil {
		return nil, err
	}
	for _, statement := range mariadbSettings {
		if _, err := s.server.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), s.server.Close())
		}
	}
	client, err := s.client(0)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if s.pids, err = s.processes(ctx, client); err != nil {
		return nil, errors.Join(err, s.server.Close())
	}
	return s, client.ConfigSet(ctx, "auto-aof-rewrite-percentage", "0").Err()
}

// processes returns the process ids of both stores, which run on this machine.
func (s *stores) processes(ctx context.Context, client *redis.Client) (map[string]int, error) {
	info, err := client.InfoMap(ctx, "server").Result()
	if err != nil {
		return nil, err
	}
	redisPID, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		return nil, fmt.Errorf("process of Redis: %w", err)
	}
	var folder, file string
	if err := s.server.QueryRowContext(ctx, "SELECT @@datadir, @@pid_file").Scan(&folder, &file); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(folder, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("process of the database: %w", err)
	}
	databasePID, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("process of the database: %w", err)
	}
	return map[string]int{"redis": redisPID, "database": databasePID}, nil
}

func (s *stores) close() { _ = s.server.Close() }

// benchShop is the pair of databases of one round.
type benchShop struct {
	stores   *stores
	name     string
	redisURL string
	dsn      string
	redis    *redis.Client
	db       *sql.DB
	settings []string // of the current step only, for its node and its tools
}

// lastDatabase is far above the logical databases of the Go benchmarks, which count up from 0.
const lastDatabase = 4000

// openShop creates empty databases for a round.
func (s *stores) openShop(ctx context.Context, round int) (*benchShop, error) {
	config, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		return nil, err
	}
	config.DBName = "stampede_bench_" + strconv.Itoa(round)
	for _, statement := range []string{"DROP DATABASE IF EXISTS ", "CREATE DATABASE "} {
		if _, err := s.server.ExecContext(ctx, statement+config.DBName); err != nil {
			return nil, err
		}
	}
	number := lastDatabase - round
	o := &benchShop{
		stores: s, name: config.DBName, dsn: config.FormatDSN(),
		redisURL: strings.TrimSuffix(s.redisURL, "/") + "/" + strconv.Itoa(number),
	}
	if o.redis, err = s.client(number); err != nil {
		return nil, err
	}
	if o.db, err = sql.Open("mysql", o.dsn); err != nil {
		return nil, err
	}
	return o, o.redis.FlushDB(ctx).Err()
}

// close removes the data of the shop, so that each round starts with the same stores.
func (b *benchShop) close(ctx context.Context) error {
	_, err := b.stores.server.ExecContext(ctx, "DROP DATABASE "+b.name)
	return errors.Join(err, b.redis.FlushDB(ctx).Err(), b.redis.Close(), b.db.Close())
}

func (s *stores) client(database int) (*redis.Client, error) {
	o, err := redis.ParseURL(s.redisURL)
	if err != nil {
		return nil, err
	}
	o.DB = database
	return redis.NewClient(o), nil
}

// usage is the resource usage of Redis.
type usage struct {
	data    float64 // bytes of memory without fixed overhead, mainly the buffers of clients
	logged  float64 // bytes of the append-only file
	seconds float64 // of processor time
}

func (b *benchShop) usage(ctx context.Context) (u usage, err error) {
	info, err := b.redis.InfoMap(ctx, "memory", "persistence", "cpu").Result()
	if err != nil {
		return u, err
	}
	memory, memoryErr := strconv.ParseFloat(info["Memory"]["used_memory_dataset"], 64)
	logged, loggedErr := strconv.ParseFloat(info["Persistence"]["aof_current_size"], 64)
	user, userErr := strconv.ParseFloat(info["CPU"]["used_cpu_user"], 64)
	system, systemErr := strconv.ParseFloat(info["CPU"]["used_cpu_sys"], 64)
	return usage{memory, logged, user + system}, errors.Join(memoryErr, loggedErr, userErr, systemErr)
}

// waiting counts reservations without a row.
func (b *benchShop) waiting(ctx context.Context) (int64, error) {
	n := int64(0)
	for p := range partitions {
		groups, err := b.redis.XInfoGroups(ctx, fmt.Sprintf("stampede:{%d}:orders", p)).Result()
		if err != nil {
			return 0, err
		}
		for _, g := range groups {
			n += g.Lag + g.Pending
		}
	}
	return n, nil
}

func (b *benchShop) count(ctx context.Context, query string) (n int64, err error) {
	err = b.db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
