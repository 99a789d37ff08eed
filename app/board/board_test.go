package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
)

// points returns a history whose last point is at the instant 1,000,000.
func points(listed ...Point) []Point {
	for i := range listed {
		if listed[i].At == 0 {
			listed[i].At = shop.Millis(1_000_000).Add(-time.Duration(len(listed)-1-i) * PointEvery)
		}
	}
	return listed
}

// An alarm is raised only when all its conditions have held for long enough. Its start is the instant at which the
// conditions began to hold.
func TestStandstillRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	still := Point{Open: 1, Rates: Rates{ReservedPerS: 3}}
	old := still
	old.At = 1_000_000 - 20_000
	noSale := Point{Rates: Rates{ReservedPerS: 1}}
	for name, c := range map[string]struct {
		points []Point
		since  shop.Millis
	}{
		"reservations without rows":           {points(still, still), 990_000},
		"reservations without rows, 15 s":     {points(Point{Rates: Rates{ConfirmedPerS: 1}}, still, still, still), 985_000},
		"reservations without rows, 5 s":      {points(Point{Open: 1, Rates: Rates{ConfirmedPerS: 1}}, still), 0},
		"no buys":                             {points(Point{Open: 1}, Point{Open: 1}), 0},
		"sold out":                            {points(soldOutPoint(), soldOutPoint()), 0},
		"buys with the result busy":           {points(busyPoint(), busyPoint()), 990_000},
		"no open sale":                        {points(noSale, noSale), 0},
		"entries wait after all sales closed": {points(Point{Pending: 1}, Point{Lags: []int64{0, 2}}), 990_000},
		"a hidden sale is confirmed":          {points(still, Point{Open: 1, Lags: []int64{7}, Rates: Rates{HiddenPerS: 2}}), 0},
		"a buy is confirmed":                  {points(still, Point{Open: 1, Rates: Rates{ReservedPerS: 3, ConfirmedPerS: .1}}), 0},
		"a gap in the history": {
			points(old, still), 0,
		},
		"no history": {nil, 0},
	} {
		since, raised := standstill(c.points)
		if raised != (c.since != 0) || raised && since != c.since {
			t.Errorf("%s: got alarm %v since %d, want since %d (0: no alarm)", name, raised, since, c.since)
		}
	}
}

func soldOutPoint() Point {
	return Point{Open: 1, Rates: Rates{RejectedPerS: map[shop.Code]float64{shop.SoldOut: 900}}}
}

func busyPoint() Point {
	return Point{Open: 1, Rates: Rates{RejectedPerS: map[shop.Code]float64{shop.Busy: 2}}}
}

func TestGrowingLagRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	lags := func(values ...int64) []Point {
		listed := make([]Point, len(values))
		for i, lag := range values {
			listed[i] = Point{Lags: []int64{0, lag}}
		}
		return points(listed...)
	}
	for name, c := range map[string]struct {
		points []Point
		since  shop.Millis
	}{
		"a lag that grows for 30 s":  {lags(5, 0, 1, 2, 3, 4, 5, 6), 970_000},
		"a lag that grows for 25 s":  {lags(0, 1, 2, 3, 4, 5), 0},
		"a large, constant lag":      {lags(900, 900, 900, 900, 900, 900, 900, 900), 0},
		"a lag that fell in between": {lags(0, 1, 2, 3, 2, 3, 4, 5), 0},
		"no history":                 {nil, 0},
	} {
		partitions, since := growingLags(c.points)
		if since != c.since || (c.since != 0) != slices.Equal(partitions, partitionList{1}) {
			t.Errorf("%s: got partitions %v since %d, want since %d (0: no alarm)", name, partitions, since, c.since)
		}
	}
}

// Every alarm is complete. TestAlarmsLinkToRunbookSections checks the link.
func TestAlarmsAreComplete(t *testing.T) {
	t.Parallel()
	var faults []Fault
	for _, texts := range faultTexts {
		faults = append(faults, Fault{Name: texts.name})
	}
	b := Board{
		Now: 1_000_000, Nodes: []NodeFigures{{
			Name: "a", DatabaseMS: 5001, Risk: "its database was replaced", Problems: 2,
			Report: &NodeReport{Faults: faults},
		}},
		Partitions: []PartitionFigures{
			{OldestMS: 299_000}, {P: 1, OldestMS: 301_000}, {ClosedAt: 989_000}, {ClosedAt: 990_000},
		},
		Sales:    []Sale{{ID: 7, Stuck: "order 8 has no row"}, {ID: 8}},
		Payments: PaymentFigures{Differences: 1, RefundsStuck: 1},
	}
	var growingLag []Point
	for lag := range int64(8) {
		growingLag = append(growingLag, Point{Lags: []int64{lag}, Dead: 1})
	}
	all := append(alarmsOf(points(growingLag...), &b), redisUnreachable(1), busyNode(1))
	all = append(all, (&Reader{}).partitionAlarms([]PartitionFigures{{Unreachable: true}, {Rejects: true}}, 1)...)
	var names []string
	for _, alarm := range all {
		if alarm.Message == "" || alarm.Do == "" || alarm.Since == 0 ||
			alarm.Link != Runbook+alarmSections[alarm.Name] ||
			alarmSections[alarm.Name] == "" {
			t.Errorf("%+v is not complete", alarm)
		}
		names = append(names, alarm.Name)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(alarmSections) {
		t.Errorf("got the alarms %v, want %d different ones", names, len(alarmSections))
	}
}

// The same fault of several nodes is one alarm: with its text, or its largest count, or else all nodes, and since its
// first start.
func TestFaultsOfAllNodesAreOneAlarm(t *testing.T) {
	t.Parallel()
	node := func(name string, faults ...Fault) NodeFigures {
		return NodeFigures{Name: name, Report: &NodeReport{Faults: faults}}
	}
	b := Board{Now: 1000, Nodes: []NodeFigures{
		node("a", Fault{Name: AlarmRedisSlow, Since: 900}, Fault{Name: AlarmMailsQuarantined, Count: 2}),
		node("b", Fault{Name: AlarmRedisSlow, Since: 800}, Fault{Name: AlarmMailsQuarantined, Count: 3}),
		node("c", Fault{Name: AlarmRedisSetting, Text: "appendonly is no"}),
	}}
	var got []string
	for _, a := range faultAlarms(&b) {
		got = append(got, fmt.Sprint(a.Since, " ", a.Message))
	}
	want := []string{
		"1000 appendonly is no.", "800 Redis replies to a, b after more than 100ms.",
		"1000 E-mails that the mail server has rejected: 3.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the alarms %q, want %q", got, want)
	}
}

// The reports of nodes are added up. A node that is gone is excluded. The id of a node that has been gone for a long
// time is returned.
func TestBoardAddsUpNodeReports(t *testing.T) {
	t.Parallel()
	node := func(id int, at shop.Millis, f Flow) NodeFigures {
		f.OverMS = 1000
		return NodeFigures{ID: id, Sockets: 10, Report: &NodeReport{
			At: at, Second: f, FiveSeconds: f, Payments: PaymentFigures{Open: 5, InDoubt: 2, RefundsStuck: 1},
		}}
	}
	var quick, slow LatencyCounts
	quick[3], slow[13] = 98, 2 // 10–15 ms and 300–500 ms
	b := Board{Now: 100_000}
	gone := b.sum([]NodeFigures{
		node(
			2, 99_500,
			Flow{Buys: 7, Reserved: 3, Confirmed: 1, Latency: slow, Rejected: map[shop.Code]int64{shop.SoldOut: 4}},
		),
		node(1, 99_900, Flow{
			Buys: 5, Reserved: 3, Confirmed: 2, Latency: quick,
			Rejected: map[shop.Code]int64{shop.SoldOut: 1, shop.Busy: 1},
		}),
		node(3, 90_000, Flow{Buys: 999}), node(4, 1_000, Flow{Buys: 999}),
		{ID: 5},
	})
	if b.BuysPerS != 12 || b.ReservedPerS != 6 || b.ConfirmedPerS != 3 || b.RejectedPerS[shop.SoldOut] != 5 ||
		b.RejectedPerS[shop.Busy] != 1 {
		t.Errorf("got the board %+v, want the sums of the nodes 1 and 2", b)
	}
	if b.LatencyMS.N != 100 || b.LatencyMS.P50 < 10 || b.LatencyMS.P50 > 15 || b.LatencyMS.P99 < 300 ||
		b.LatencyMS.P99 > 500 {
		t.Errorf("got the latency %+v, want 100 orders, P50 of 10–15 ms, P99 of 300–500 ms", b.LatencyMS)
	}
	if want := (PaymentFigures{Open: 5, InDoubt: 4, RefundsStuck: 1}); b.Payments != want {
		t.Errorf("got the payments %+v, want %+v", b.Payments, want)
	}
	if len(b.Nodes) != 2 || b.Nodes[0].ID != 1 || !slices.Equal(gone, []int{4}) {
		t.Errorf("got the nodes %+v and gone nodes %v, want the nodes 1 and 2 and gone node 4", b.Nodes, gone)
	}
	b.Sales = []Sale{{Phase: shop.Open}, {Phase: shop.Open, Paused: true}, {Phase: shop.Upcoming}}
	b.Partitions = []PartitionFigures{{Lag: 1, Pending: 2, Dead: 3}, {P: 1, Lag: 4}}
	p := b.point(5)
	if p.Open != 1 || p.Sockets != 20 || p.Pending != 2 || p.Dead != 3 || p.At != 5 ||
		!slices.Equal(p.Lags, []int64{1, 4}) {
		t.Errorf("got the point %+v, want 1 open sale and the sums of nodes and partitions", p)
	}
}

// Board totals exclude hidden sales.
func TestBoardTotalsExcludeHiddenSales(t *testing.T) {
	t.Parallel()
	counters := &Counters{IsHidden: func(sale shop.ID) bool { return sale == 8 }}
	for _, sale := range []shop.ID{7, 8, 8, 9} {
		counters.Of(sale).Count(false, soldOut)
	}
	if all := &counters.All; all.Attempts() != 2 || all.Rejected()[shop.SoldOut] != 2 {
		t.Errorf("got %d buys, rejected %v; want 2 buys, all sold out", all.Attempts(), all.Rejected())
	}
	(*Counters)(nil).Of(7).Count(false, soldOut)
	flow := Flow{Confirmed: 5, Hidden: 3}
	if d := (&Flow{Confirmed: 4, Hidden: 9}).since(&flow, time.Second); d.Confirmed != 0 || d.Hidden != 6 {
		t.Errorf("got %d confirmed, %d hidden; want 0 and 6", d.Confirmed, d.Hidden)
	}
}

// Counting a buy attempt allocates nothing, whether it is accepted or rejected.
func TestCounterAllocatesNothing(t *testing.T) {
	counter, latency := &Counter{}, &BuyLatency{}
	rejections := []error{soldOut, shop.Fail(shop.PassRequired, "m"), shop.FailBusy("m", 1), errors.New("x")}
	if n := testing.AllocsPerRun(100, func() {
		counter.Count(true, nil)
		counter.Count(false, nil) // a repeat
		for _, err := range rejections[:3] {
			counter.Count(false, err)
		}
		latency.Observe(12 * time.Millisecond)
	}); n != 0 {
		t.Errorf("got %v allocations per buy attempt, want 0", n)
	}
	counter.Count(false, rejections[3])
	rejected := counter.Rejected()
	if counter.Attempts() != 506 || counter.Reserved() != 101 || rejected[shop.SoldOut] != 101 ||
		rejected[shop.Internal] != 1 {
		t.Errorf("got %d attempts, %d reserved, rejected %v; want 506 attempts, 101 reserved, 101 sold out, 1 internal", counter.Attempts(), counter.Reserved(), rejected)
	}
	if upTo, n, sum := latency.Histogram(); n != 101 || upTo[.01] != 0 || upTo[.015] != 101 || sum != 1.212 {
		t.Errorf("got the histogram %v, %d orders, sum %v; want 101 orders of 12 ms", upTo, n, sum)
	}
}

// fakeBoard is a store with at most one node.
type fakeBoard struct {
	FigureStore
	unreachable   bool
	rejectsWrites bool // accepts reads and rejects writes
	roundTrip     time.Duration
	reports       []NodeFigures
	points        []Point
	claimed       map[shop.Millis]bool
}

var errUnreachable = errors.New("unreachable")

func (f *fakeBoard) PublishFigures(_ context.Context, n NodeFigures, duePoint shop.Millis) (bool, error) {
	if f.unreachable || f.rejectsWrites {
		return false, errUnreachable
	}
	first := duePoint != 0 && !f.claimed[duePoint]
	f.claimed[duePoint] = true
	f.reports = []NodeFigures{n}
	return first, nil
}

func (f *fakeBoard) RoundTrip(context.Context) (time.Duration, error) { return f.roundTrip, nil }

func (f *fakeBoard) NodeFigures(context.Context) ([]NodeFigures, error) {
	if f.unreachable {
		return nil, errUnreachable
	}
	return slices.Clone(f.reports), nil
}

func (f *fakeBoard) PartitionFigures(context.Context) ([]PartitionFigures, error) {
	return []PartitionFigures{{}}, nil
}

func (f *fakeBoard) AddPoint(_ context.Context, p Point, _ []int) error {
	f.points = append(f.points, p)
	return nil
}

func (f *fakeBoard) Points(context.Context, int) ([]Point, error) { return f.points, nil }

type noSlots struct {
	catalog.CatalogueStore
	catalog.SaleStore
}

func (noSlots) Slots(context.Context, shop.Millis, shop.Millis) ([]shop.Slot, error) { return nil, nil }

type fakeViewers struct{ shown []*Board }

func (f *fakeViewers) BoardWatched() bool { return true }

func (f *fakeViewers) ShowBoard(b *Board) { f.shown = append(f.shown, b) }

// While Redis is unavailable or rejects writes, the board shows only the figures of the node itself. Afterwards it
// shows the figures in Redis again.
func TestBoardShowsOwnFiguresWithoutRedis(t *testing.T) {
	t.Parallel()
	store, viewers := &fakeBoard{claimed: make(map[shop.Millis]bool)}, &fakeViewers{}
	now, total := shop.Millis(1_000_000), Flow{}
	feed := &Feed{
		Figures: store, Audience: viewers,
		Reader: &Reader{
			Figures: store, Catalogue: catalog.NewCatalogue(noSlots{}, noSlots{}, nil, time.UTC),
			Now: func() shop.Millis { return now },
		},
		Sample: func() (NodeFigures, NodeReport, Flow) {
			return NodeFigures{ID: 7, DatabaseMS: 10}, NodeReport{}, total
		},
	}
	runFeed := func(wantErr bool) *Board {
		t.Helper()
		if err := feed.RunOnce(t.Context()); (err != nil) != wantErr {
			t.Fatalf("RunOnce: got %v, want an error: %v", err, wantErr)
		}
		return viewers.shown[len(viewers.shown)-1]
	}
	runFeed(false)
	total.Buys = 5
	if b := runFeed(false); b.BuysPerS == 0 || len(b.Nodes) != 1 || len(b.Alarms) != 0 || b.Nodes[0].Report != nil {
		t.Errorf("with Redis: got the board %+v, want one node with buys and no alarm", b)
	}
	store.unreachable = true
	now += 2000
	b := runFeed(true)
	if len(b.Nodes) != 1 || b.Nodes[0].ID != 7 || len(b.Alarms) != 1 || b.Alarms[0].Name != AlarmRedisUnreachable {
		t.Errorf("without Redis: got the board %+v, want node 7 and the alarm %s", b, AlarmRedisUnreachable)
	}
	now += 5000
	if b := runFeed(true); b.Alarms[0].Since != 1_002_000 {
		t.Errorf("got Redis unreachable since %d, want since 1002000", b.Alarms[0].Since)
	}
	store.unreachable = false
	now += 5000
	if b := runFeed(false); len(b.Alarms) != 0 {
		t.Errorf("with Redis again: got the alarms %+v, want none", b.Alarms)
	}

	// While Redis rejects writes, the age of the node's own figures and its own counters raise alarms.
	wrote := now
	runAndCheck := func(after shop.Millis, wantErr bool, want ...string) {
		t.Helper()
		now += after
		total.Rejected = map[shop.Code]int64{shop.Busy: total.Rejected[shop.Busy] + 9}
		b, got := runFeed(wantErr), []string(nil)
		for _, a := range b.Alarms {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, want) || len(want) > 0 && b.Alarms[0].Since != wrote {
			t.Errorf("got the alarms %+v, want %v since %d", b.Alarms, want, wrote)
		}
	}
	store.rejectsWrites = true
	runAndCheck(4000, true)
	runAndCheck(2000, true, AlarmWritesRejected)
	runAndCheck(8000, true, AlarmWritesRejected, AlarmStandstill)
	store.rejectsWrites = false
	total.Reserved++
	runAndCheck(1000, false)
	store.roundTrip = 4 * SlowRedis // measured by one run, reported by the next
	for range 2 {
		total.Reserved++
		runAndCheck(1000, false)
	}
	wrote = now
	total.Reserved++
	runAndCheck(5000, false, AlarmRedisSlow)
	store.roundTrip = 0
	for _, want := range [][]string{{AlarmRedisSlow}, {AlarmRedisSlow}, {AlarmRedisSlow}, nil} {
		total.Reserved++
		runAndCheck(1000, false, want...)
	}
	if len(store.points) != 4 || store.points[0].At != 1_000_000 || store.points[1].At != 1_010_000 {
		t.Errorf("got the points %+v, want points at 1000000 and 1010000", store.points)
	}
}

var soldOut = shop.Fail(shop.SoldOut, "sold out")
