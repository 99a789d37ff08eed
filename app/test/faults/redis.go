package faults

import (
	"context"
	"crypto/sha1" // Redis identifies a script by its SHA-1 digest
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/streams"
)

// scriptPrefix is the prefix of a script's call name.
const scriptPrefix = "script "

// Redis returns a hook that applies the fault to the commands of a client. A script is named "script name" however the
// client runs it: by digest, in full after a NOSCRIPT, or in a pipeline.
func Redis(f Fault) redis.Hook { return commands{f} }

type commands struct{ f Fault }

// scriptNames maps the digests of the scripts of all points to call names. Other scripts are named eval or evalsha.
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

// callName returns the call name of a command: the name of its script, or the command in lower case.
func callName(cmd redis.Cmder) string {
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

type commandKey struct{}

// Args returns the arguments of the command that the call of this context makes, the command's name first; nil: a
// pipeline, or a call of another kind. The context is that of a [Fault].
func Args(ctx context.Context) []any {
	args, _ := ctx.Value(commandKey{}).([]any)
	return args
}

// DialHook implements redis.Hook. It does not change connections.
func (c commands) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (c commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		withArgs := context.WithValue(ctx, commandKey{}, cmd.Args())
		err := c.f(withArgs, callName(cmd), func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook. A pipeline makes one call per distinct command or script.
func (c commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var pipelineErr error // error of the pipeline, whose commands already have their errors
		call := func() error {
			pipelineErr = next(ctx, cmds)
			return pipelineErr
		}
		known := make(map[string]bool, 1)
		for _, cmd := range cmds {
			if name := callName(cmd); !known[name] {
				known[name] = true
				inner := call
				call = func() error { return c.f(ctx, name, inner) }
			}
		}
		err := call()
		if err != nil && pipelineErr == nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}
