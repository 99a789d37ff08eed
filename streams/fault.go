package streams

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// transient marks an error of Redis or the connection as ErrTransient: the outcome is unknown or nothing happened, and
// every call of this package may be repeated. Errors that persist until an operator changes something become
// ErrMisconfigured.
func transient(err error) error {
	switch {
	case err == nil || errors.Is(err, shop.ErrTransient):
		return err
	case permanent(err):
		return errors.Join(shop.ErrMisconfigured, err)
	}
	return errors.Join(shop.ErrTransient, err)
}

// wrapped prefixes an error with a message; nil stays nil.
func wrapped(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// permanentErrors are prefixes of Redis errors that persist until an account, a setting or the Redis version changes.
var permanentErrors = []string{
	"NOAUTH", "WRONGPASS", "NOPERM", "CROSSSLOT",
	"ERR unknown command", "ERR unknown subcommand", "ERR ACL failure",
	"ERR AUTH", "ERR Client sent AUTH", "ERR invalid password", "ERR DB index", "ERR SELECT is not allowed",
	"ERR This instance has cluster",
}

// permanent reports whether the error persists until an operator changes something.
func permanent(err error) bool {
	var reply redis.Error
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &reply) {
		// From a script: "Unknown Redis command called from script", "Unknown command called from script" (Valkey).
		return strings.Contains(reply.Error(), "command called from script") ||
			slices.ContainsFunc(permanentErrors,
				func(start string) bool { return strings.HasPrefix(reply.Error(), start) })
	}
	return errors.As(err, &certificate)
}

// CheckReachable returns nil if Redis replies, ErrMisconfigured if an operator must change something, else
// ErrTransient.
func CheckReachable(ctx context.Context, client redis.UniversalClient) error {
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping: %w", transient(err))
	}
	if IsCluster(client) {
		return checkCluster(ctx, client)
	}
	return checkSingleServer(ctx, client)
}

// errClusterNode means that the address for a single server belongs to a node of a cluster.
var errClusterNode = fmt.Errorf("%w: this server is one node of a Redis cluster: give STAMPEDE_REDIS_URL the form "+
	"redis-cluster://host:port,host:port with some nodes of it", shop.ErrMisconfigured)

// checkSingleServer fails if the server holds only a part of the keys. It reads keys in many slots. CheckCommands
// reports missing permissions.
func checkSingleServer(ctx context.Context, client redis.UniversalClient) error {
	const tries = 64
	var reads []*redis.StringCmd
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range tries {
			reads = append(reads, p.Get(ctx, fmt.Sprintf("stampede:{checkconfig.%d}", n)))
		}
		return nil
	})
	for _, read := range reads {
		if _, moved := redis.IsMovedError(read.Err()); moved {
			return errClusterNode
		}
	}
	return nil
}

// checkCluster fails if the server is not a node of a cluster with all slots served.
func checkCluster(ctx context.Context, client redis.UniversalClient) error {
	state, err := client.ClusterInfo(ctx).Result()
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		return nil // CheckCommands checks the permissions
	case err != nil:
		return fmt.Errorf("read the state of the cluster: %w", transient(err))
	case !strings.Contains(state, "cluster_state:ok"):
		return fmt.Errorf("%w: the cluster is not ok: some slots have no reachable primary", shop.ErrTransient)
	}
	return nil
}
