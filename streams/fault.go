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
	return nil
}
