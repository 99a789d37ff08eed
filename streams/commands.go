package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// CheckCommands tries all Redis commands of the program and its scripts, on separate keys. It returns the errors of the
// commands that fail. It does not compare versions: Redis, Valkey and the permissions of accounts differ in more than
// version numbers.
func CheckCommands(ctx context.Context, client redis.UniversalClient) []error {
	const entry = "0-1"
	key := "stampede:{checkconfig}:" + strings.ToLower(rand.Text()[:10])
	stream, hash, list, set, one := key+":stream", key+":hash", key+":list", key+":set", key+":text"
	defer client.Del(context.WithoutCancel(ctx), stream, hash, list, set, one)
	var failed []error
	for _, command := range [][]any{
		{"TIME"},
		{"INFO", "replication"},
		{"SET", one, 1, "PX", 60000},
		{"GET", one},
		{"PTTL", one},
		{"PEXPIRE", one, 60000},
		{"EXPIRE", one, 60, "NX"},
		{"EXISTS", one},
		{"TYPE", one},
		{"HSET", hash, "a", 1, "b", 2},
		{"HSETNX", hash, "c", 3},
		{"HINCRBY", hash, "a", 1},
		{"HGET", hash, "a"},
		{"HMGET", hash, "a", "b"},
		{"HGETALL", hash},
		{"HKEYS", hash},
		{"HVALS", hash},
		{"HSCAN", hash, 0},
		{"HDEL", hash, "c"},
		{"RPUSH", list, "a"},
		{"LTRIM", list, -1, -1},
		{"LRANGE", list, 0, -1},
		{"ZADD", set, "NX", 1, "a"},
		{"ZSCORE", set, "a"},
		{"ZCARD", set},
		{"ZRANGE", set, 0, -1},
		{"ZRANGEBYSCORE", set, 0, 1},
		{"ZREM", set, "a"},
		{"ZREMRANGEBYSCORE", set, "-inf", 0},
		{"XADD", stream, entry, "a", "1"},
		{"XADD", stream, "0-2", "a", "2"},
		{"XGROUP", "CREATE", stream, group, "0"},
		{"XREADGROUP", "GROUP", group, "checkconfig", "COUNT", 1, "STREAMS", stream, ">"},
		{"XGROUP", "SETID", stream, group, entry, "ENTRIESREAD", 1},
		{"XPENDING", stream, group, "IDLE", 0, "-", "+", 10},
		{"XCLAIM", stream, group, "checkconfig", 0, entry, "JUSTID"},
		{"XAUTOCLAIM", stream, group, "checkconfig", 0, "0"},
		{"XINFO", "GROUPS", stream},
		{"XINFO", "CONSUMERS", stream, group},
		{"XINFO", "STREAM", stream},
		{"XACK", stream, group, entry},
		{"XGROUP", "DELCONSUMER", stream, group, "checkconfig"},
		{"XRANGE", stream, "-", "+"},
		{"XREVRANGE", stream, "+", "-", "COUNT", 1},
		{"XLEN", stream},
		{"XTRIM", stream, "MINID", entry},
		{"XDEL", stream, "0-2"},
		{"PUBLISH", key + ":channel", "a"},
		{"SCRIPT", "LOAD", leaveScript.text},
		{"EVAL", "return redis.call('TIME')", 0},
		{"UNLINK", one},
	} {
		if err := client.Do(ctx, command...).Err(); err != nil && !errors.Is(err, redis.Nil) {
			failed = append(failed, fmt.Errorf("%s: %w", commandName(command), transient(err)))
		}
	}
	return failed
}

// commandName returns the command and its subcommand, for operators.
func commandName(command []any) string {
	words := fmt.Sprint(command[0])
	switch words {
	case "XGROUP", "XINFO", "SCRIPT":
		words += " " + fmt.Sprint(command[1])
	}
	for _, argument := range command {
		if argument == "ENTRIESREAD" || argument == "IDLE" {
			words += " … " + fmt.Sprint(argument)
		}
	}
	return words
}
