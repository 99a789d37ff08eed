package e2e

import (
	"fmt"
	"sync"
	"testing"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// P1, P3, P4 on a Redis Cluster: two nodes sell four sales on three primaries to the same crowd. Each client repeats
// each buy once. Each sale sells exactly its units, and each buyer receives the order event on the socket.
func TestClusterSellsExactlyItsUnits(t *testing.T) {
	t.Parallel()
	const buyers, units, saleCount = 120, 20, 4
	cluster := kit.StartRedisCluster(t, 3, 0)
	s := openShop(t, cluster.URL, kit.MySQL(t), kit.NoRateLimits...)
	sales := make([]shop.Sale, saleCount)
	for i := range sales {
		sales[i] = s.open(units, 1)
	}
	clients := crowd(t, buyers, s.start(), s.start())
	accepted := make([]map[shop.ID]order.Receipt, saleCount)
	var wg sync.WaitGroup
	for i, sale := range sales {
		wg.Go(func() { accepted[i] = buyAtOnce(t, clients, sale.ID, 1) })
	}
	wg.Wait()
	for i, sale := range sales {
		if len(accepted[i]) != units {
			t.Errorf("sale %s of partition %d: %d buyers accepted, want %d", sale.ID, sale.Partition, len(accepted[i]),
				units)
		}
		kit.Eventually(t, waitTimeout, func() (bool, string) {
			rows := s.rowsOf(&sale)
			return rows == units, fmt.Sprintf("%d rows of sale %s, want %d", rows, sale.ID, units)
		})
		for user, r := range accepted[i] {
			kit.Eventually(t, waitTimeout, func() (bool, string) {
				return clients[user].received(r.Order, shop.Pending), fmt.Sprintf("user %s did not receive order %s", user,
					r.Order)
			})
		}
		s.audit(sale)
	}
}
