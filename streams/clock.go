package streams

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// clockPatience is how long a read waits for the clocks of other primaries after the first.
const clockPatience = 20 * time.Millisecond

// serverTime returns Redis TIME (I10). In a cluster it is the earliest clock of the keys' primaries: a later one may be
// in the future for a partition, which then publishes nothing stamped by it (F2). It does not wait for unreachable
// primaries.
func serverTime(ctx context.Context, client redis.UniversalClient, keys ...string) (time.Time, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return client.Time(ctx).Result()
	}
	primaries, err := primariesOf(ctx, cluster, keys)
	if err != nil {
		return time.Time{}, err
	}
	ctx, stop := context.WithTimeout(ctx, callLimit)
	defer stop()
	published, failed := make(chan time.Time), make(chan error, len(primaries))
	for _, primary := range primaries {
		go func() {
			now, err := primary.Time(ctx).Result()
			if err != nil {
				failed <- err
				return
			}
			select {
			case published <- now:
			case <-ctx.Done():
			}
		}()
	}
	return earliest(published, failed, len(primaries))
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

// earliest waits for the first time, and for clockPatience for earlier ones. Without any time it fails.
func earliest(published <-chan time.Time, failed <-chan error, servers int) (first time.Time, err error) {
	var enough <-chan time.Time // nil until the first time arrives
	for ; servers > 0; servers-- {
		select {
		case now := <-published:
			if first.IsZero() || now.Before(first) {
				first = now
			}
			if enough == nil {
				enough = time.After(clockPatience)
			}
		case err = <-failed:
		case <-enough:
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
	var one sync.Mutex
	var least, most time.Duration
	asked := false
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		began := time.Now()
		now, err := primary.Time(ctx).Result()
		if err != nil {
			return transient(err)
		}
		ahead := now.Sub(began.Add(time.Since(began) / 2))
		one.Lock()
		defer one.Unlock()
		if !asked {
			least, most, asked = ahead, ahead, true
		}
		least, most = min(least, ahead), max(most, ahead)
		return nil
	})
	return most - least, err
}

// Now returns Redis TIME, the clock that decides windows and deadlines (I10). Its error is ErrTransient; callers add
// the context.
func (l *Inventory) Now(ctx context.Context) (shop.Millis, error) {
	now, err := serverTime(ctx, l.client, l.servers.keys...)
	if err != nil {
		return 0, transient(err)
	}
	return shop.MillisOf(now), nil
}
