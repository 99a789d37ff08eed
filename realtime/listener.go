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
	subscriptionSilence = 5 * time.Second        // after this long without a word the subscription is pinged
	subscribeAgainAfter = 200 * time.Millisecond // before a broken subscription is tried again
)

// listener receives channels of Redis by one subscription. PubSub drops messages silently, so it calls made whenever a
// subscription is complete. A silent connection is pinged, then replaced. One that drops messages looks alive here; a
// caller that misses messages calls renew.
type listener struct {
	redis    redis.UniversalClient
	channels map[string]func(payload string) // what to do with a message, by the channel's name
	made     func()

	mu  sync.Mutex
	sub *redis.PubSub // nil between two subscriptions
}

// Run listens until ctx ends.
func (l *listener) Run(ctx context.Context) error {
	for {
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		slog.WarnContext(ctx, "subscription to changes broke; subscribing again", "err", err)
		shop.Sleep(ctx, subscribeAgainAfter)
	}
}

// renew closes the subscription; Run makes another one.
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

// listen reads a subscription until it fails.
func (l *listener) listen(ctx context.Context) error {
	names := slices.Collect(maps.Keys(l.channels))
	sub := l.redis.Subscribe(ctx, names...)
	l.set(sub)
	defer sub.Close()
	defer l.set(nil)
	stop := context.AfterFunc(ctx, func() { sub.Close() }) // a blocked receive does not look at ctx
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
				l.made()
			}
		case *redis.Message:
			if do := l.channels[m.Channel]; do != nil {
				do(m.Payload)
			}
		}
	}
}
