package streams

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// clockReplyWait is how long a read waits for the clocks of the other primaries after the first reply.
const clockReplyWait = 20 * time.Millisecond

// serverTime returns Redis TIME (I10). In a cluster it is the earliest clock of the keys' primaries: a later clock may
// be in the future for a partition, which then does not publish rows touched at that time (F2). serverTime does not
// wait for unreachable primaries.
func serverTime(ctx context.Context, client redis.UniversalClient, keys ...string) (time.Time, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.Time(ctx).Result()
	}
	primaries, err := primariesOf(ctx, cluster, keys)
	if err != nil {
		return time.Time{}, err
	}
	ctx, stop := context.WithTimeout(ctx, serverCallTimeout)
	defer stop()
	times, failed := make(chan time.Time), make(chan error, len(primaries))
	for _, primary := range primaries {
		go func() {
			now, err := primary.Time(ctx).Result()
			if err != nil {
				failed <- err
				return
			}
			select {
			case times <- now:
			case <-ctx.Done():
			}
		}()
	}
	return earliest(times, failed, len(primaries))
}

// primariesOf returns the primaries of the keys from the cached slots, without a request.
func primariesOf(ctx context.Context, cluster *redis.ClusterClient, keys []string) (map[string]*redis.Client, error) {
	primaries := make(map[string]*redis.Client)
	for _, key := range keys {
		primary, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("find the primary of %s: %w", key, err)
		}
		primaries[primary.Options().Addr] = primary
	}
	return primaries, nil
}

// earliest returns the earliest of the times that arrive within clockReplyWait after the first one. It fails if no time
// arrives.
func earliest(times <-chan time.Time, failed <-chan error, servers int) (first time.Time, err error) {
	var timeout <-chan time.Time // nil until the first time arrives
	for ; servers > 0; servers-- {
		select {
		case now := <-times:
			if first.IsZero() || now.Before(first) {
				first = now
			}
			if timeout == nil {
				timeout = time.After(clockReplyWait)
			}
		case err = <-failed:
		case <-timeout:
			return first, nil
		}
	}
	if !first.IsZero() {
		return first, nil
	}
	return first, err
}

// ClockDifference returns the difference of the clocks of a cluster's primaries, with the accuracy of round trips; 0
// for a single server. With an error it covers the primaries that replied.
func ClockDifference(ctx context.Context, client redis.UniversalClient) (time.Duration, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return 0, nil
	}
	var mu sync.Mutex
	var minAhead, maxAhead time.Duration
	found := false
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, serverCallTimeout)
		defer cancel()
		began := time.Now()
		now, err := primary.Time(ctx).Result()
		if err != nil {
			return transient(err)
		}
		ahead := now.Sub(began.Add(time.Since(began) / 2))
		mu.Lock()
		defer mu.Unlock()
		if !found {
			minAhead, maxAhead, found = ahead, ahead, true
		}
		minAhead, maxAhead = min(minAhead, ahead), max(maxAhead, ahead)
		return nil
	})
	return maxAhead - minAhead, err
}

// Now returns Redis TIME, the clock that decides windows and deadlines (I10). Its error is ErrTransient; callers add
// the context.
func (c *connection) Now(ctx context.Context) (shop.Millis, error) {
	now, err := serverTime(ctx, c.client, c.servers.keys...)
	if err != nil {
		return 0, transient(err)
	}
	return shop.MillisOf(now), nil
}
