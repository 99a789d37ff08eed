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

// Scripts puts a fault before the scripts of the names given, wherever a client runs them: by their digest, in full
// after a NOSCRIPT, or in a pipeline. All other commands pass.
func Scripts(f Fault, names ...string) redis.Hook {
	h := scripts{f: f, names: make(map[string]string, len(names))}
	for _, name := range names {
		h.names[streams.ScriptSHA(name)] = scriptPrefix + name
	}
	return h
}

type scripts struct {
	f     Fault
	names map[string]string // digest → name of the call
}

// called names the script that a command runs; "" if it is none of those meant.
func (h scripts) called(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 2 {
		return ""
	}
	script, _ := args[1].(string)
	switch strings.ToLower(cmd.Name()) {
	case "evalsha":
		return h.names[script]
	case "eval":
		sum := sha1.Sum([]byte(script))
		return h.names[hex.EncodeToString(sum[:])]
	}
	return ""
}

// DialHook is redis.Hook: connections are made as ever.
func (h scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook is redis.Hook.
func (h scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		name := h.called(cmd)
		if name == "" {
			return next(ctx, cmd)
		}
		err := h.f(ctx, name, func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook is redis.Hook. A pipeline is one call of each script in it.
func (h scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var own error // of the commands, which keep it
		call := func() error {
			own = next(ctx, cmds)
			return own
		}
		known := make(map[string]bool, 1)
		for _, cmd := range cmds {
			if name := h.called(cmd); name != "" && !known[name] {
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
