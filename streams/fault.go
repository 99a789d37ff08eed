package streams

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// transient marks whatever Redis or the way to it failed with: the outcome is unknown or nothing happened, and
// every call of this package is safe to repeat. What no waiting mends is marked as that.
func transient(err error) error {
	switch {
	case err == nil || errors.Is(err, app.ErrTransient):
		return err
	case permanent(err):
		return errors.Join(app.ErrMisconfigured, err)
	}
	return errors.Join(app.ErrTransient, err)
}

// refusals are the beginnings of what Redis answers for as long as nobody changes an account, a setting, or its
// version.
var refusals = []string{
	"NOAUTH", "WRONGPASS", "NOPERM", "CROSSSLOT",
	"ERR unknown command", "ERR unknown subcommand", "ERR ACL failure",
	"ERR AUTH", "ERR Client sent AUTH", "ERR invalid password", "ERR DB index", "ERR SELECT is not allowed",
	"ERR This instance has cluster",
}

// permanent reports whether waiting does not mend the error.
func permanent(err error) bool {
	var answer redis.Error
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &answer) {
		for _, beginning := range refusals {
			if strings.HasPrefix(answer.Error(), beginning) {
				return true
			}
		}
		// Of a script: "Unknown Redis command called from script", "Unknown command called from script" (Valkey).
		return strings.Contains(answer.Error(), "command called from script")
	}
	return errors.As(err, &certificate)
}

// Reach reports whether Redis answers: ErrMisconfigured if waiting will not help, else ErrTransient.
func Reach(ctx context.Context, client redis.UniversalClient) error {
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping: %w", transient(err))
	}
	if IsCluster(client) {
		return reachCluster(ctx, client)
	}
	return wholeServer(ctx, client)
}

// errOneNode means that a plain address names a server that has a part of the keys.
var errOneNode = fmt.Errorf("%w: this server is one node of a Redis cluster: give STAMPEDE_REDIS_URL the form "+
	"redis-cluster://host:port,host:port with some nodes of it", app.ErrMisconfigured)

// wholeServer fails where a client for one server was sent to one node of a cluster: keys are looked for in many
// slots, and one is asked to go elsewhere. Whoever may not look (the rights of an account) hears of that from Needs.
func wholeServer(ctx context.Context, client redis.UniversalClient) error {
	const tries = 64
	var looks []*redis.StringCmd
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range tries {
			looks = append(looks, p.Get(ctx, fmt.Sprintf("stampede:{checkconfig.%d}", n)))
		}
		return nil
	})
	for _, look := range looks {
		if _, moved := redis.IsMovedError(look.Err()); moved {
			return errOneNode
		}
	}
	return nil
}

// reachCluster fails where a server has no cluster, or one whose slots are not all served.
func reachCluster(ctx context.Context, client redis.UniversalClient) error {
	state, err := client.ClusterInfo(ctx).Result()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return nil // what the program needs is tried by Needs
	case err != nil:
		return fmt.Errorf("ask for the state of the cluster: %w", transient(err))
	case !strings.Contains(state, "cluster_state:ok"):
		return fmt.Errorf("%w: the cluster is not ok: some slots have no primary that answers", app.ErrTransient)
	}
	return nil
}
