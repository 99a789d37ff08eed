package realtime

import "stampede/app"

func goldPoint() app.BoardPoint {
	return app.BoardPoint{
		At: goldNow - 5000, BuysS: 310.2, ReservedS: 12.4, ConfirmedS: 12.2, HiddenS: 1.5,
		RefusedS: map[app.Code]float64{app.SoldOut: 293.8, app.RateLimited: 4},
		PressMS:  app.PressTimes{P50: 14, P99: 62, N: 61}, Sockets: 1532, Open: 6, Lags: []int64{0, 3}, Pending: 12,
	}
}

func goldBoard() *app.Board {
	v := goldView()
	return &app.Board{
		Now: goldNow, BuysS: 310, ReservedS: 12.4, ConfirmedS: 12, HiddenS: 2.5,
		RefusedS: map[app.Code]float64{app.SoldOut: 293.6, app.RateLimited: 4},
		PressMS:  app.PressTimes{P50: 14, P99: 62, N: 61},
		Sales: []app.BoardSale{{
			ID: goldSale, Name: v.Product.Name, Phase: v.Phase, Stock: 36, Held: v.Held, Sold: v.Sold,
			Initial: v.Initial, Added: v.Added, Withdrawn: 1, Rate: v.Rate,
			Watching: v.Watching, OpensAt: v.OpensAt, ClosesAt: v.ClosesAt,
		}},
		Partitions: []app.PartitionFigures{{Deadlines: 13}, {P: 1, Lag: 3, Pending: 12, OldestMS: 21}},
		Nodes: []app.NodeFigures{{
			ID: 3, Name: "shop-a-3", Version: "1.4.0", Roles: []string{"api", "worker", "sweeper"}, Sockets: 1532,
			Users: 1400, Leases: []app.Lease{{Of: "node 3", Until: goldNow + 600_000}}, UpS: 86_400, CPU: .42,
			Heap: 70 << 20, DatabaseMS: 210,
		}},
		Payments: app.PaymentFigures{Open: 9, InDoubt: 1}, Alarms: []app.Alarm{},
	}
}

func goldAlarm() *app.Board {
	return &app.Board{
		Now: goldNow, RefusedS: map[app.Code]float64{}, ErrorsS: .2,
		Sales:      []app.BoardSale{{ID: goldSale, Phase: app.Open, Paused: true, Stuck: "41 held, 42 rows are pending"}},
		Partitions: []app.PartitionFigures{{Away: true}, {P: 1, Rejects: true}, {P: 2, ClosedAt: goldNow - 2000}},
		Nodes:      []app.NodeFigures{{ID: 3, Roles: []string{}, Leases: []app.Lease{}, Risk: "semi-sync is off"}},
		Alarms: []app.Alarm{{
			Name: app.AlarmRedisAway, Since: goldNow - 3000, Link: "deploy/RUNBOOK.md#redis-is-away",
			Says: "Redis does not answer; this is what one node knows by itself.",
			Do:   "Bring it back with its disk. Until then nothing is sold, and people who press Buy are told to repeat.",
		}},
	}
}
