package faults

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/streams"
)

// heard is a fault that keeps what it was told of, and what came of it.
type heard struct {
	calls []string
	fail  error // instead of the call
}

func (h *heard) fault(_ context.Context, name string, call func() error) error {
	h.calls = append(h.calls, name)
	if h.fail != nil {
		return h.fail
	}
	return call()
}

func command(args ...any) *redis.Cmd { return redis.NewCmd(context.Background(), args...) }

// Scripts are known by their digest, in full, and among other commands of a pipeline; everything else passes.
func TestScriptsAreKnownOnTheWire(t *testing.T) {
	t.Parallel()
	drop, take := streams.ScriptSHA("drop"), streams.ScriptSHA("take")
	h := new(heard)
	hook := scriptsOf(h.fault, "drop", "reserve")
	hook.names["e0e1f9fabfc9d4800c877a703b823ac0578ff8db"] = scriptPrefix + "one" // as Redis documents it
	sent := 0
	one := hook.ProcessHook(func(context.Context, redis.Cmder) error { sent++; return nil })
	all := hook.ProcessPipelineHook(func(_ context.Context, cmds []redis.Cmder) error { sent += len(cmds); return nil })
	ctx := t.Context()
	for _, cmd := range []*redis.Cmd{
		command("evalsha", drop, 0), command("EVAL", "return 1", 0), command("evalsha", take, 0),
		command("get", drop), command("ping"), command("evalsha", streams.ScriptSHA("reserve"), 1, new(int64)),
	} {
		if err := one(ctx, cmd); err != nil {
			t.Errorf("%v: %v", cmd, err)
		}
	}
	pipeline := []redis.Cmder{command("evalsha", drop, 0), command("ping"), command("evalsha", drop, 0)}
	if err := all(ctx, pipeline); err != nil {
		t.Error(err)
	}
	want := []string{"script drop", "script one", "script reserve", "script drop"}
	if !slices.Equal(h.calls, want) || sent != 9 {
		t.Errorf("%d commands are sent, of which %q are known, want 9 and %q", sent, h.calls, want)
	}
}

// A fault's error is what whoever waits for the command reads, and the command is not sent.
func TestFaultOfAScriptIsHeard(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	h := &heard{fail: lost}
	hook := Scripts(h.fault, "drop")
	never := func() { t.Error("the command is sent") }
	single, piped := command("evalsha", streams.ScriptSHA("drop"), 0), command("evalsha", streams.ScriptSHA("drop"), 0)
	err := hook.ProcessHook(func(context.Context, redis.Cmder) error { never(); return nil })(t.Context(), single)
	if !errors.Is(err, lost) || !errors.Is(single.Err(), lost) {
		t.Errorf("%v, %v, want both lost", err, single.Err())
	}
	err = hook.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { never(); return nil })(t.Context(),
		[]redis.Cmder{piped})
	if !errors.Is(err, lost) || !errors.Is(piped.Err(), lost) {
		t.Errorf("%v, %v, want both lost", err, piped.Err())
	}
}
