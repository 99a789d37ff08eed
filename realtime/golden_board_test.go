package realtime

import (
	"stampede/app/board"
	"stampede/app/shop"
)

// goldPoint is the content of the golden frame of a point of the board.
func goldPoint() board.Point {
	return board.Point{
		At: goldNow - 5000, Rates: board.Rates{
			BuysPerS: 310.2, ReservedPerS: 12.4, ConfirmedPerS: 12.2, HiddenPerS: 1.5,
			RejectedPerS: map[shop.Code]float64{shop.SoldOut: 293.8, shop.RateLimited: 4},
		},
		LatencyMS: board.LatencyTimes{P50: 14, P99: 62, N: 61}, Sockets: 1532, Open: 6, Lags: []int64{0, 3},
		Pending: 12,
	}
}

func goldBoard() *board.Board {
	v := goldView()
	return &board.Board{
		Now: goldNow, Rates: board.Rates{
			BuysPerS: 310, ReservedPerS: 12.4, ConfirmedPerS: 12, HiddenPerS: 2.5,
			RejectedPerS: map[shop.Code]float64{shop.SoldOut: 293.6, shop.RateLimited: 4},
		},
		LatencyMS: board.LatencyTimes{P50: 14, P99: 62, N: 61},
		Sales: []board.Sale{{
			ID: goldSale, Name: v.Product.Name, Phase: v.Phase, Stock: 36, Held: v.Held, Sold: v.Sold,
			Initial: v.Initial, Added: v.Added, Withdrawn: 1, Rate: v.Rate,
			Watching: v.Watching, OpensAt: v.OpensAt, ClosesAt: v.ClosesAt,
		}},
		Partitions: []board.PartitionFigures{{Deadlines: 13}, {P: 1, Lag: 3, Pending: 12, OldestMS: 21}},
		Nodes: []board.NodeFigures{{
			ID: 3, Name: "shop-a-3", Version: "1.4.0", Roles: []string{"api", "worker", "sweeper"}, Sockets: 1532,
			Users: 1400, Leases: []board.Lease{{Name: "node 3", Until: goldNow + 600_000}}, UpSeconds: 86_400, CPU: .42,
			Heap: 70 << 20, DatabaseMS: 210,
		}},
		Payments: board.PaymentFigures{Open: 9, InDoubt: 1}, Alarms: []board.Alarm{},
	}
}

func goldAlarm() *board.Board {
	return &board.Board{
		Now: goldNow, Rates: board.Rates{RejectedPerS: map[shop.Code]float64{}}, ErrorsPerS: .2,
		Sales: []board.Sale{{ID: goldSale, Phase: shop.Open, Paused: true, Stuck: "41 held, 42 rows are pending"}},
		Partitions: []board.PartitionFigures{
			{Unreachable: true},
			{P: 1, Rejects: true},
			{P: 2, ClosedAt: goldNow - 2000},
		},
		Nodes:    []board.NodeFigures{{ID: 3, Roles: []string{}, Leases: []board.Lease{}, Risk: "semi-sync is off", Problems: 2}},
		Payments: board.PaymentFigures{Differences: 3},
		Alarms: []board.Alarm{{
			Name: board.AlarmRedisUnreachable, Since: goldNow - 3000, Link: "deploy/RUNBOOK.md#redis-is-away",
			Message: "Redis does not respond. The figures are of one node.",
			Do:      "Start Redis with its disk. Until then the shop sells nothing, and buys return busy.",
		}},
	}
}
