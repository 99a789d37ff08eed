package realtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

const (
	subscriptionSilence = 5 * time.Second        // a silent subscription is pinged after this
	resubscribeDelay    = 200 * time.Millisecond // delay before a new subscription
)

// listener receives Redis channels through one subscription. PubSub drops messages silently, so the listener calls
// onSubscribed whenever a new subscription is complete. It pings a silent connection. If the connection stays silent,
// the listener replaces it. The listener cannot detect a connection that drops messages; a caller that misses messages
// calls renew.
type listener struct {
	redis        redis.UniversalClient
	channels     map[string]func(payload string) // message handlers by channel name
	onSubscribed func()

	mu  sync.Mutex
	sub *redis.PubSub // nil: no subscription
}

// Run receives messages until ctx ends.
func (l *listener) Run(ctx context.Context) error {
	for {
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		slog.WarnContext(ctx, "subscription to changes broke; subscribing again", "err", err)
		shop.Sleep(ctx, resubscribeDelay)
	}
}

// renew closes the subscription. Run then makes a new subscription.
func (l *listener) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sub != nil {
		_ = l.sub.Close()
	}
}

func (l *listener) set(sub *redis.PubSub) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sub = sub
}

// listen makes a subscription and receives its messages until it fails.
func (l *listener) listen(ctx context.Context) error {
	names := slices.Collect(maps.Keys(l.channels))
	sub := l.redis.Subscribe(ctx, names...)
	l.set(sub)
	defer sub.Close()
	defer l.set(nil)
	stop := context.AfterFunc(ctx, func() { sub.Close() }) // a blocked receive ignores ctx
	defer stop()
	subscribed, pinged := 0, false
	for {
		message, err := sub.ReceiveTimeout(ctx, subscriptionSilence)
		var timeout net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			pinged = true
			if err := sub.Ping(ctx); err != nil {
				return fmt.Errorf("ping: %w", err)
			}
			continue
		default:
			return fmt.Errorf("receive: %w", err)
		}
		switch m := message.(type) {
		case *redis.Subscription:
			if subscribed++; subscribed == len(names) {
				l.onSubscribed()
			}
		case *redis.Message:
			if handle := l.channels[m.Channel]; handle != nil {
				handle(m.Payload)
			}
		}
	}
}
