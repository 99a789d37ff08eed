package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	hintSilence = 5 * time.Second        // after this long without a word the subscription is pinged
	hintPause   = 200 * time.Millisecond // before a broken subscription is tried again
)

// hint says that a user's log has a new event, and brings it along.
type hint struct {
	user app.ID
	kept
}

// parseHints reads the lines of a message; one that cannot be read is left out, the log has it anyway.
func parseHints(message string) []hint {
	hints := make([]hint, 0, strings.Count(message, "\n")+1)
	for line := range strings.SplitSeq(message, "\n") {
		who, what, _ := strings.Cut(line, " ")
		user, errUser := app.ParseID(who)
		event, errEvent := readLine(what)
		if errUser == nil && errEvent == nil {
			hints = append(hints, hint{user, event})
		}
	}
	return hints
}

// ear is what the subscription of a node hears.
type ear interface {
	heardEvents(hints []hint)
	heardNotice(n noticeEvent)
	// heardNothing tells that messages may have been lost up to now: what matters must be read from the logs.
	heardNothing()
}

// listen carries hints to the ear until ctx ends. Whenever the subscription was (re)made it says so, because
// PubSub drops messages without a word.
func (l *Log) listen(ctx context.Context, to ear) error {
	for {
		err := l.listenOnce(ctx, to)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		slog.WarnContext(ctx, "subscription to personal events broke; subscribing again", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(hintPause):
		}
	}
}

func (l *Log) listenOnce(ctx context.Context, to ear) error {
	channels := []string{l.noticeChannel()}
	for shard := range logShards {
		channels = append(channels, l.eventChannel(shard))
	}
	sub := l.redis.Subscribe(ctx, channels...)
	defer sub.Close()
	stop := context.AfterFunc(ctx, func() { sub.Close() }) // a blocked receive does not look at ctx
	defer stop()
	subscribed, pinged := 0, false
	for {
		message, err := sub.ReceiveTimeout(ctx, hintSilence)
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
			if subscribed++; subscribed == len(channels) {
				to.heardNothing() // from now on every message comes
			}
		case *redis.Message:
			l.pass(ctx, m, to)
		}
	}
}

func (l *Log) pass(ctx context.Context, m *redis.Message, to ear) {
	if m.Channel != l.noticeChannel() {
		to.heardEvents(parseHints(m.Payload))
		return
	}
	var n noticeEvent
	if err := json.Unmarshal([]byte(m.Payload), &n); err != nil {
		slog.WarnContext(ctx, "unreadable notice", "err", err)
		return
	}
	to.heardNotice(n)
}

// sendNotice says the notice to all nodes.
func (l *Log) sendNotice(ctx context.Context, n noticeEvent) error {
	if err := l.redis.Publish(ctx, l.noticeChannel(), encode(n)).Err(); err != nil {
		return fmt.Errorf("publish notice: %w", errors.Join(app.ErrTransient, err))
	}
	return nil
}
