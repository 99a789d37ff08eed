package faults

import (
	"context"
	"crypto/sha1" // the name that Redis itself gives a script
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/streams"
)

// scriptPrefix begins the name of a script's call.
const scriptPrefix = "script "

// Redis puts a fault around the commands of a client. A script is named "script name", wherever the client runs it: by
// its digest, in full after a NOSCRIPT, or in a pipeline.
func Redis(f Fault) redis.Hook { return commands{f} }

type commands struct{ f Fault }

// scriptNames has the names of the scripts of all points, by their digests. Another script is an evalsha.
var scriptNames = func() map[string]string {
	names := make(map[string]string)
	for _, p := range points {
		for _, call := range p.calls {
			if name, is := strings.CutPrefix(call, scriptPrefix); is {
				names[streams.ScriptSHA(name)] = call
			}
		}
	}
	return names
}()

// called names the script that a command runs, or the command.
func called(cmd redis.Cmder) string {
	name := strings.ToLower(cmd.Name())
	script := ""
	if args := cmd.Args(); len(args) > 1 {
		script, _ = args[1].(string)
	}
	if name == "eval" {
		sum := sha1.Sum([]byte(script))
		script = hex.EncodeToString(sum[:])
	}
	if known := scriptNames[script]; known != "" && (name == "eval" || name == "evalsha") {
		return known
	}
	return name
}

// DialHook is redis.Hook: connections are made as ever.
func (h commands) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is redis.Hook.
func (h commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := h.f(ctx, called(cmd), func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook is redis.Hook. A pipeline is one call of each command or script in it.
func (h commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var own error // of the commands, which keep it
		call := func() error {
			own = next(ctx, cmds)
			return own
		}
		known := make(map[string]bool, 1)
		for _, cmd := range cmds {
			if name := called(cmd); !known[name] {
				known[name] = true
				inner := call
				call = func() error { return h.f(ctx, name, inner) }
			}
		}
		err := call()
		if err != nil && own == nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}
