package streams

import (
	"context"
	"crypto/sha1" // Redis identifies scripts by SHA-1
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is one Lua file, preceded by the files whose functions it calls. The header of the file is its contract.
type script struct {
	name string
	text string
	sha  string
}

var (
	reserveScript     = load("redis_time", "history", "progress", "reserve")
	returnScript      = load("redis_time", "rejection", "hold_of", "return")
	holdScript        = load("redis_time", "rejection", "hold")
	sellScript        = load("rejection", "hold_of", "sell")
	withdrawScript    = load("rejection", "hold_of", "withdraw")
	createScript      = load("rejection", "create")
	armScript         = load("rejection", "arm")
	closeScript       = load("redis_time", "history", "close")
	restoreScript     = load("redis_time", "claimed", "restore")
	setStuckScript    = load("claimed", "set_stuck")
	setAsideScript    = load("redis_time", "claimed", "progress", "settled", "set_aside")
	openScript        = load("claimed", "history", "open")
	noteScript        = load("rejection", "note")
	stateScript       = load("history", "state")
	confirmScript     = load("rejection", "history", "confirm")
	finishScript      = load("redis_time", "rejection", "publish_lines", "settled", "finish")
	publishScript     = load("redis_time", "publish_lines", "publish")
	deadLetterScript  = load("redis_time", "rejection", "letter", "settled", "dead_letter")
	takeScript        = load("redis_time", "take")
	renewScript       = load("redis_time", "renew")
	dropScript        = load("drop")
	leaveScript       = load("leave")
	registerScript    = load("redis_time", "register")
	lagScript         = load("lag")
	trimScript        = load("redis_time", "progress", "trim")
	unsettledScript   = load("progress", "unsettled")
	auditScript       = load("audit")
	retireScript      = load("redis_time", "rejection", "retire")
	quarantineScript  = load("redis_time", "letter", "quarantine")
	replayScript      = load("replay")
	mailPostScript    = load("mail_post")
	postScript        = load("redis_time", "history", "post")
	confirmMarkScript = load("redis_time", "history", "confirm_mark")
	correctScript     = load("redis_time", "rejection", "correct")
	termsScript       = load("redis_time", "rejection", "terms")
	takeOutScript     = load("rejection", "take_out")
	numbersScript     = load("numbers")
	missingScript     = load("missing")
	deliveryScript    = load("history", "delivery")
	watchScript       = load("redis_time", "watch")
	watchingScript    = load("redis_time", "watching")
)

// load joins the named files to a script. The script has the name of the last file.
func load(files ...string) *script {
	var text []byte
	for _, name := range files {
		part, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // embedded at build time
		}
		text = append(text, part...)
	}
	sum := sha1.Sum(text)
	s := &script{name: files[len(files)-1], text: string(text), sha: hex.EncodeToString(sum[:])}
	scripts[s.name] = s
	return s
}

// scripts has all scripts by name.
var scripts = make(map[string]*script)

// ScriptSHA returns the SHA-1 that identifies a script in EVALSHA, 40 hex digits; "" if no script has this name.
// SLOWLOG and MONITOR show it, and tests search for it in the traffic.
func ScriptSHA(name string) string {
	if s := scripts[name]; s != nil {
		return s.sha
	}
	return ""
}

// Codes with which scripts reject a whole call. They have the same meaning in every script.
const (
	codeDone       = 0
	codeAlready    = 1 // nothing had to be done, or nothing can be done yet; see the script
	codeNotLoaded  = int64(shop.VerdictNotLoaded)
	codeRecovering = int64(shop.VerdictRecovering)
	codeEpoch      = int64(shop.VerdictEpoch)
	codeAbsent     = 16 // the partition is not in Redis
	codeBroken     = 17 // a key has a wrong type: another program wrote to it
	codeRejected   = 18 // an argument or the partition's state is invalid
	codeBehind     = 19 // Redis does not have a reservation that the caller has seen
	codeHistory    = 20 // the server began another history that is not confirmed yet; see also post.lua
	codeTooLate    = 21 // rows were touched too long ago to be published
	codeOtherShop  = 22 // the partition belongs to another shop
)

// run calls the script. If Redis has lost the script (restart, SCRIPT FLUSH), run sends its text.
func (s *script) run(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) ([]any, error) {
	reply, err := client.EvalSha(ctx, s.sha, keys, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = client.Eval(ctx, s.text, keys, args...).Slice()
	}
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", s.name, transient(err))
	}
	return reply, nil
}

// run calls a script on keys of a partition. A code that rejects the whole call becomes an error.
func (c *connection) run(
	ctx context.Context, s *script, partition int, keys func(k *partitionKeys) []string, args ...any,
) ([]any, error) {
	k, err := c.keys(partition)
	if err != nil {
		return nil, err
	}
	reply, err := s.run(ctx, c.client, keys(k), args...)
	if err == nil {
		err = c.rejection(partition, integer(reply[0]))
	}
	return reply, err
}

// sawChanges records the changes of the partition in the reply of a script that ran under the epoch (I8).
func (c *connection) sawChanges(partition int, epoch int64, reply []any) {
	c.parts[partition].accepted.addChanges(epoch, integer(reply[1]))
}

// call is one run of a script within a pipeline.
type call struct {
	keys []string
	args []any
}

// runAll makes the calls in one pipeline and returns the replies in their order, or the first error.
func (s *script) runAll(ctx context.Context, client redis.UniversalClient, calls []call) ([][]any, error) {
	replies, errs := s.runEach(ctx, client, calls)
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// runEach makes the calls in one pipeline and returns the replies or errors in their order. Calls that returned
// NOSCRIPT did nothing; only these are repeated, with the script's text. While a slot moves, calls may run in another
// order and more than once: no call of a pipeline may depend on another one.
func (s *script) runEach(ctx context.Context, client redis.UniversalClient, calls []call) ([][]any, []error) {
	replies, errs := make([][]any, len(calls)), make([]error, len(calls))
	todo := make([]int, len(calls))
	for i := range todo {
		todo[i] = i
	}
	for try := 0; len(todo) > 0; try++ {
		cmds := make([]*redis.Cmd, len(todo))
		// The returned error is that of the first failed command. Below, each command is checked.
		_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, at := range todo {
				if try == 0 {
					cmds[i] = p.EvalSha(ctx, s.sha, calls[at].keys, calls[at].args...)
				} else {
					cmds[i] = p.Eval(ctx, s.text, calls[at].keys, calls[at].args...)
				}
			}
			return nil
		})
		var missing []int
		for i, at := range todo {
			reply, err := cmds[i].Slice()
			switch {
			case err == nil:
				replies[at] = reply
			case try == 0 && redis.HasErrorPrefix(err, "NOSCRIPT"):
				missing = append(missing, at)
			default:
				errs[at] = fmt.Errorf("script %s: %w", s.name, transient(err))
			}
		}
		todo = missing
	}
	return replies, errs
}

// noGroup reports whether the stream or its group is missing.
func noGroup(err error) bool { return err != nil && strings.Contains(err.Error(), "NOGROUP") }

// integer decodes a number of a reply; anything else is 0.
func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}

// text decodes a string of a reply; anything else is "".
func text(v any) string {
	s, _ := v.(string)
	return s
}

// list decodes a nested reply; anything else is empty.
func list(v any) []any {
	l, _ := v.([]any)
	return l
}
