package streams

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P2: errors that persist until an operator changes something differ from the error of an unreachable Redis, but are
// still transient.
// CheckCommands finds missing permissions of an account by trying the commands.
func TestCheckCommandsFindsMissingPermissions(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	server := kit.StartRedis(t, kit.RedisOptions{})
	root := dial(t, server.URL)
	if failed := CheckCommands(ctx, root); len(failed) != 0 {
		t.Errorf("with all permissions: got the failed commands %v, want none", failed)
	}
	if keys, err := root.Keys(ctx, "*").Result(); err != nil || len(keys) != 0 {
		t.Errorf("the keys %v were not removed (%v)", keys, err)
	}
	if err := root.Do(ctx, "ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all", "-xautoclaim",
		"-xgroup|setid").Err(); err != nil {
		t.Fatal(err)
	}
	as := func(password string) *redis.Client {
		return dial(t, strings.Replace(server.URL, "redis://", "redis://shop:"+password+"@", 1))
	}
	failed := CheckCommands(ctx, as("secret"))
	if got := fmt.Sprint(failed); len(failed) != 2 || !strings.Contains(got, "XAUTOCLAIM: ") ||
		!strings.Contains(got, "XGROUP SETID … ENTRIESREAD: ") {
		t.Errorf("without two permissions: got the failed commands %v, want those two", failed)
	}
	for _, err := range append(failed, CheckReachable(ctx, as("wrong"))) {
		if !errors.Is(err, shop.ErrMisconfigured) || !errors.Is(err, shop.ErrTransient) {
			t.Errorf("got %v, want ErrMisconfigured and ErrTransient", err)
		}
	}
	err := transient(root.Eval(ctx, "return redis.call('NOSUCH')", nil).Err())
	if !errors.Is(err, shop.ErrMisconfigured) {
		t.Errorf("an unknown command: got %v, want ErrMisconfigured", err)
	}
	server.Kill()
	if err := CheckReachable(ctx, root); errors.Is(err, shop.ErrMisconfigured) || !errors.Is(err, shop.ErrTransient) {
		t.Errorf("no server on the port: got %v, want ErrTransient alone", err)
	}
}
