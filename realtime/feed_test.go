package realtime

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

const partitions = 3 // partitions per shop in these tests

// database has rows in memory and its own clock.
type database struct {
	mu          sync.Mutex
	ahead       time.Duration // offset of its clock from the clock of this machine
	history     string
	unreachable bool
	rows        map[shop.ID]row // by order
	reads       int             // calls that read rows
	beforeRead  func()          // hook that runs before rows are read; nil: no hook
}

// row is the newest state of an order with its timestamp of the database's clock.
type row struct {
	order shop.Order
	at    shop.Millis
}

func newDatabase() *database { return &database{history: "5f3a9c1e", rows: make(map[shop.ID]row)} }

func (d *database) set(change func(d *database)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *database) nowLocked() shop.Millis { return shop.MillisOf(time.Now().Add(d.ahead)) }

func (d *database) instantLocked() (shop.Instant, error) {
	if d.unreachable {
		return shop.Instant{}, fmt.Errorf("the database is unreachable: %w", shop.ErrTransient)
	}
	return shop.Instant{At: d.nowLocked(), History: d.history}, nil
}

func (d *database) Clock(context.Context) (shop.Instant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.instantLocked()
}

func (d *database) Changed(
	_ context.Context, queries []shop.ChangesQuery, limit int,
) ([]shop.Changes, shop.Instant, error) {
	d.mu.Lock()
	before := d.beforeRead
	d.mu.Unlock()
	if before != nil {
		before()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at, err := d.instantLocked()
	if err != nil {
		return nil, at, err
	}
	d.reads++
	changes := make([]shop.Changes, len(queries))
	for i, q := range queries {
		var found []row
		for _, r := range d.rows {
			if r.order.User == q.User && r.at >= q.Since {
				found = append(found, r)
			}
		}
		slices.SortFunc(found, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order.ID, b.order.ID))
		})
		if changes[i].More = len(found) > limit; changes[i].More {
			found = found[:limit]
		}
		for _, r := range found {
			changes[i].Orders = append(changes[i].Orders, r.order)
		}
	}
	return changes, at, nil
}

// commit sets timestamps and writes rows.
func (d *database) commit(orders ...shop.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range orders {
		d.rows[o.ID] = row{o, d.nowLocked()}
	}
}

// commitWithAge writes rows with a timestamp in the past.
func (d *database) commitWithAge(ago time.Duration, orders ...shop.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range orders {
		d.rows[o.ID] = row{o, d.nowLocked().Add(-ago)}
	}
}

// feed is the source of changes of a shop: a database in memory and a real Redis. All nodes of the shop share one feed.
// It publishes changes after a COMMIT, like the services.
type feed struct {
	*database
	redis     *redis.Client // for all calls except subscriptions
	url       string        // for the subscriptions of nodes
	namespace string
}

// newFeed returns a feed on a Redis. Channels are shared by all databases of a Redis, so the namespace contains the
// name of the test and the URL.
func newFeed(t testing.TB, redisURL string) *feed {
	t.Helper()
	f := &feed{
		database: newDatabase(), redis: openRedis(t, redisURL), url: redisURL,
		namespace: strings.ReplaceAll(t.Name(), "/", ".") + ":" + redisURL,
	}
	for p := range partitions {
		if err := f.redis.HSet(t.Context(), f.meta(p), "epoch", 1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func openRedis(t testing.TB, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

func (f *feed) meta(partition int) string { return fmt.Sprintf("meta:%d", partition) }

// publishScript has the essential part of the publish script.
var publishScript = redis.NewScript(`
local n = redis.call('HINCRBY', KEYS[1], 'published', 1)
redis.call('PUBLISH', ARGV[1], string.format('%d %d\n', n - 1, n) .. ARGV[2])
return n`)

// orderWithRev returns an order of a user with a revision.
func orderWithRev(user, order shop.ID, rev int) shop.Order {
	return shop.Order{
		ID: order, Sale: 11, State: shop.Pending, Rev: rev, User: user, Key: "key-of-it",
		Partition: int(order) % partitions,
	}
}

// commitAndPublish commits rows and publishes them, with one message per partition.
func (f *feed) commitAndPublish(t testing.TB, orders ...shop.Order) {
	t.Helper()
	f.commit(orders...)
	f.publish(t, f.namespace, orders...)
}

// lose commits rows and loses their messages: the numbers advance, but the messages go to another namespace, so that no
// node receives them.
func (f *feed) lose(t testing.TB, orders ...shop.Order) {
	t.Helper()
	f.commit(orders...)
	f.publish(t, f.namespace+" elsewhere", orders...)
}

func (f *feed) publish(t testing.TB, namespace string, orders ...shop.Order) {
	t.Helper()
	var lines [partitions][]byte
	for i := range orders {
		o := &orders[i]
		lines[o.Partition] = shop.AppendChange(lines[o.Partition], o, OrderFrame(o))
	}
	for p, text := range lines {
		if len(text) > 0 {
			f.publishText(t, namespace, p, string(text))
		}
	}
}

func (f *feed) publishText(t testing.TB, namespace string, partition int, lines string) {
	t.Helper()
	channel := shop.ChangesChannel(namespace, partition)
	err := publishScript.Run(t.Context(), f.redis, []string{f.meta(partition)}, channel, lines).Err()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *feed) SequenceEnds(ctx context.Context) ([]shop.SequenceEnd, error) {
	ends := make([]shop.SequenceEnd, partitions)
	for p := range ends {
		numbers, err := f.redis.HMGet(ctx, f.meta(p), "published", "epoch").Result()
		if err != nil {
			return nil, fmt.Errorf("read meta: %w", err)
		}
		for i, target := range []*int64{&ends[p].Last, &ends[p].Epoch} {
			if text, ok := numbers[i].(string); ok {
				if _, err := fmt.Sscan(text, target); err != nil {
					return nil, err
				}
			}
		}
	}
	return ends, nil
}
