package kit

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed conf/redis.conf
var redisConf []byte

// minDatabases is the minimum number of logical databases of the shared Redis. Numbers are assigned round robin, so a
// test must end before its number is reused.
const minDatabases = 1024

// Redis returns the URL of an empty logical database on the shared test Redis. Only this test uses it. The database is
// emptied when the test ends. Pub/Sub channels and scripts are shared by all databases.
func Redis(t testing.TB) string {
	t.Helper()
	base, err := sharedRedis()
	if err != nil {
		t.Fatalf("kit: Redis: %v", err)
	}
	o, err := redis.ParseURL(base)
	if err != nil {
		t.Fatalf("kit: STAMPEDE_TEST_REDIS: %v", err)
	}
	if o.DB, err = nextDatabase(o); err != nil {
		t.Fatalf("kit: Redis at %s: %v", o.Addr, err)
	}
	flush := func() error {
		client := redis.NewClient(o)
		defer client.Close()
		return client.FlushDB(context.Background()).Err()
	}
	if err := flush(); err != nil {
		t.Fatalf("kit: empty database %d: %v", o.DB, err)
	}
	t.Cleanup(func() {
		if err := flush(); err != nil {
			t.Errorf("kit: empty database %d: %v", o.DB, err)
		}
	})
	return withDatabase(base, o.DB)
}

// withDatabase returns the URL with another database number.
func withDatabase(base string, db int) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // impossible: redis.ParseURL has accepted the URL
	}
	u.Path = "/" + strconv.Itoa(db)
	return u.String()
}

// nextDatabase returns the next number, starting at 1. The counter is in database 0, which all test binaries of a run
// share.
func nextDatabase(o *redis.Options) (int, error) {
	counter := *o
	counter.DB = 0
	client := redis.NewClient(&counter)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()

	setting, err := client.ConfigGet(ctx, "databases").Result()
	if err != nil {
		return 0, err
	}
	databases, err := strconv.Atoi(setting["databases"])
	if err != nil || databases < minDatabases {
		return 0, fmt.Errorf("has %q databases, the tests need at least %d", setting["databases"], minDatabases)
	}
	n, err := client.Incr(ctx, "kit:db").Result()
	if err != nil {
		return 0, err
	}
	return 1 + int((n-1)%int64(databases-1)), nil
}

// sharedRedis returns the URL of the server that all tests share. It starts the server if STAMPEDE_TEST_REDIS is not
// set.
var sharedRedis = sync.OnceValues(func() (string, error) {
	if base := os.Getenv("STAMPEDE_TEST_REDIS"); base != "" {
		return base, nil
	}
	dir, err := sharedDir("redis")
	if err != nil {
		return "", err
	}
	p, base, err := startRedis(RedisOptions{Dir: dir, Durable: true})
	if err != nil {
		return "", err
	}
	atExit.add(p.kill)
	return base, nil
})

// RedisOptions configures a private Redis. The zero value does not persist data.
type RedisOptions struct {
	Dir     string   // data folder; empty: a temporary folder of the test
	Port    int      // on 127.0.0.1; 0: a free port
	Durable bool     // append-only file with an fsync per write, as in production
	Conf    string   // path of a configuration file; empty: conf/redis.conf
	Args    []string // additional command-line arguments

	TLS *Certificate // for an additional TLS port, which Addr returns; nil: no TLS
}

// RedisServer is a private Redis that the test can Kill, Stop, Start again, Pause and Resume.
type RedisServer struct {
	server
	URL string // database 0; unchanged after a restart
	Dir string // holds the append-only file

	securePort int // TLS port; 0: none
}

// StartRedis starts a private Redis that ends with the test.
func StartRedis(t testing.TB, o RedisOptions) *RedisServer {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	tlsArgs, port := o.TLS.redisArgs(t)
	o.Args = append(tlsArgs, o.Args...)
	p, serverURL, err := startRedis(o)
	if err != nil {
		t.Fatalf("kit: Redis: %v", err)
	}
	t.Cleanup(p.kill)
	return &RedisServer{server: server{t: t, p: p}, URL: serverURL, Dir: o.Dir, securePort: port}
}

func startRedis(o RedisOptions) (*process, string, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, "", err
	}
	text := redisConf
	if o.Conf != "" {
		if text, err = os.ReadFile(o.Conf); err != nil {
			return nil, "", err
		}
	}
	text = bytes.Replace(text, []byte("dir /var/lib/redis"), []byte("dir "+o.Dir), 1) // of deploy/redis.conf
	conf := filepath.Join(o.Dir, "redis.conf")
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		return nil, "", err
	}
	appendOnly := "no"
	if o.Durable {
		appendOnly = "yes"
	}
	var p *process
	var serverURL string
	err = onFreePort(o.Port, func(port int) error {
		serverURL = "redis://" + loopback(port) + "/0"
		p = &process{
			name:    "redis",
			program: program,
			dir:     o.Dir,
			args: append([]string{conf, "--port", strconv.Itoa(port), "--dir", o.Dir, "--appendonly", appendOnly},
				o.Args...),
			ready: func() error { return pingRedis(serverURL) },
		}
		return p.start()
	})
	return p, serverURL, err
}

// redisProgram returns the Redis or Valkey that STAMPEDE_TEST_REDIS_SERVER names, otherwise the installed Redis.
func redisProgram() (string, error) {
	if program := os.Getenv("STAMPEDE_TEST_REDIS_SERVER"); program != "" {
		return program, nil
	}
	return findProgram("redis-server")
}

// pingRedis returns an error until the server has loaded its append-only file.
func pingRedis(serverURL string) error {
	o, err := redis.ParseURL(serverURL)
	if err != nil {
		return err
	}
	o.MaxRetries = -1
	client := redis.NewClient(o)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return client.Ping(ctx).Err()
}
