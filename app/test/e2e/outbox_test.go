package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/streams"
)

// P8: the back office gets the posting of a paid order even if the promoted replica lacks it. After Redis was emptied,
// the back office gets the postings of the last week again. The consumer group of its reader is restored, and no
// unknown group is created.
func TestPostingsSurviveTheLossOfRedis(t *testing.T) {
	t.Parallel()
	const stream = "stampede:{backoffice}:paid"
	master := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	replica := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	wire, link := kit.NewProxy(t, master.URL), kit.NewProxy(t, master.URL)
	g := startGateway(t)
	s := openShop(t, wire.URL, kit.MySQL(t), g.settings...)
	sale := s.open(10, 1)
	masterClient, replicaClient := plainRedis(t, master.URL), plainRedis(t, replica.URL)
	replica.FollowVia(master, link)
	s.must(masterClient.XGroupCreateMkStream(kit.Context(t), stream, "backoffice", "0").Err())
	n := s.start()
	one, two := token(t, kit.NewID()), token(t, kit.NewID())
	a, b := n.buyPending(sale, one, 1), n.buyPending(sale, two, 1)
	n.payOrder(g, a, one)
	s.awaitPostings(replicaClient, a)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		const groups = "SELECT COUNT(*) FROM settings WHERE name = 'backoffice_groups' AND value LIKE '%backoffice%'"
		return s.count(groups) == 1, "the group is not recorded"
	})
	link.Stall()
	n.payOrder(g, b, two)
	s.awaitPostings(masterClient, a, b)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		sent := s.count("SELECT COUNT(*) FROM outbox WHERE sent_at IS NOT NULL")
		return sent == 2, fmt.Sprintf("%d of 2 postings are marked as sent", sent)
	})
	replica.Promote()
	wire.Redirect(replica.URL)
	master.Kill()
	s.awaitPostings(replicaClient, a, b)
	s.must(replicaClient.FlushAll(kit.Context(t)).Err())
	s.awaitPostings(replicaClient, a, b)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		found, err := replicaClient.XInfoGroups(kit.Context(t), stream).Result()
		var names []string
		for _, group := range found {
			names = append(names, group.Name)
		}
		slices.Sort(names)
		want := []string{"backoffice", streams.OrderMailGroup}
		return slices.Equal(names, want), fmt.Sprintf("groups %q, %v, want %q", names, err, want)
	})
}

// awaitPostings waits until the stream on the Redis server has a posting of each order.
func (s *testShop) awaitPostings(redisClient *redis.Client, orders ...shop.Order) {
	s.t.Helper()
	kit.Eventually(s.t, waitTimeout, func() (bool, string) {
		found, err := redisClient.XRange(kit.Context(s.t), "stampede:{backoffice}:paid", "-", "+").Result()
		for i := range orders {
			id := orders[i].ID.String()
			if !slices.ContainsFunc(found, func(m redis.XMessage) bool { return m.Values["order"] == id }) {
				return false, fmt.Sprintf("order %s is not among %d postings, %v", id, len(found), err)
			}
		}
		return true, ""
	})
}
