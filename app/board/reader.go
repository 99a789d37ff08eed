package board

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
)

// Reader reads the live board: the figures of all nodes, and the numbers of sales and partitions in Redis. It is safe
// for concurrent use.
type Reader struct {
	Figures   FigureStore
	Counters  func(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error) // of Redis
	Catalogue *catalog.Catalogue                                                       // nil: a board without sales
	Now       func() shop.Millis

	mu               sync.Mutex
	rates            map[shop.ID]*saleRate
	unreachableSince shop.Millis // approximate start of the first outage of a partition; 0: no outage
	rejectedSince    shop.Millis // approximate start of rejected writes in a partition; 0: all accept writes
}

// saleRate stores the number of settled orders at the previous read.
type saleRate struct {
	at   shop.Millis
	done int64
	rate float64
}

// minRatePeriod is the minimum time between two reads for a rate.
const minRatePeriod = UpdateInterval / 2

// alarmPoints is the number of points that the alarms need.
const alarmPoints = 24

// Read returns the current board.
func (r *Reader) Read(ctx context.Context) (Board, error) {
	b, _, err := r.figures(ctx)
	if err != nil {
		return Board{}, err
	}
	points, err := r.Figures.Points(ctx, alarmPoints)
	if err != nil {
		return Board{}, fmt.Errorf("read the history of the board: %w", err)
	}
	b.Alarms = append(alarmsOf(points, &b), r.partitionAlarms(b.Partitions, b.Now)...)
	b.removeReports()
	return b, nil
}

// figures returns the board without alarms, and the ids of the nodes that have been gone for longer than nodeLife.
func (r *Reader) figures(ctx context.Context) (b Board, gone []int, err error) {
	reports, err := r.Figures.NodeFigures(ctx)
	if err != nil {
		return Board{}, nil, fmt.Errorf("read the figures of the nodes: %w", err)
	}
	b = Board{Now: r.Now()}
	gone = b.sum(reports)
	if b.Partitions, err = r.Figures.PartitionFigures(ctx); err != nil {
		return Board{}, nil, fmt.Errorf("read the partitions: %w", err)
	}
	if b.Sales, err = r.sales(ctx, b.Now); err != nil {
		return Board{}, nil, fmt.Errorf("read the sales: %w", err)
	}
	return b, gone, nil
}

// partitionAlarms returns alarms for the partitions that are unreachable or reject writes, since this reader first saw
// such a partition.
func (r *Reader) partitionAlarms(all []PartitionFigures, now shop.Millis) (alarms []Alarm) {
	var unreachable, rejecting partitionList
	for _, p := range all {
		if p.Unreachable {
			unreachable = append(unreachable, p.P)
		}
		if p.Rejects {
			rejecting = append(rejecting, p.P)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := sinceFirst(&r.unreachableSince, len(unreachable) > 0, now); since != 0 {
		alarms = append(alarms, partitionsUnreachable(unreachable, since))
	}
	if since := sinceFirst(&r.rejectedSince, len(rejecting) > 0, now); since != 0 {
		alarms = append(alarms, writesRejected(fmt.Sprintf("Redis rejects writes of %s.", rejecting), since))
	}
	return alarms
}

// sinceFirst stores and returns since when a condition holds without interruption; 0: it does not hold.
func sinceFirst(since *shop.Millis, holds bool, now shop.Millis) shop.Millis {
	switch {
	case !holds:
		*since = 0
	case *since == 0:
		*since = now
	}
	return *since
}

// sum adds up the figures of the current nodes and returns the ids of the nodes that have been gone for longer than
// nodeLife.
func (b *Board) sum(reports []NodeFigures) (gone []int) {
	b.RejectedPerS, b.Nodes = make(map[shop.Code]float64), []NodeFigures{}
	b.Sales, b.Partitions, b.Alarms = []Sale{}, []PartitionFigures{}, []Alarm{}
	var latency LatencyCounts
	for _, n := range reports {
		if n.Report == nil {
			continue
		}
		if age := b.Now.Sub(n.Report.At); age > figuresLife {
			if age > nodeLife {
				gone = append(gone, n.ID)
			}
			continue
		}
		b.Nodes = append(b.Nodes, n)
		s := &n.Report.Second
		b.Rates.add(s)
		b.ErrorsPerS += s.perSecond(s.Errors)
		latency.add(&n.Report.FiveSeconds.Latency)
		p := &n.Report.Payments
		b.Payments.InDoubt += p.InDoubt
		b.Payments.Open = max(b.Payments.Open, p.Open) // each node counts the open payments of the whole database
		b.Payments.RefundsStuck = max(b.Payments.RefundsStuck, p.RefundsStuck)
		b.Payments.Differences = max(b.Payments.Differences, p.Differences)
	}
	b.Rates.round()
	b.ErrorsPerS = roundTenth(b.ErrorsPerS)
	b.LatencyMS = latency.times()
	slices.SortFunc(b.Nodes, func(x, y NodeFigures) int { return x.ID - y.ID })
	return gone
}

// point makes a point of the history from the nodes' figures of the last five seconds.
func (b *Board) point(at shop.Millis) Point {
	p := Point{At: at, Lags: make([]int64, len(b.Partitions))}
	p.RejectedPerS = make(map[shop.Code]float64)
	var latency LatencyCounts
	for _, n := range b.Nodes {
		f := &n.Report.FiveSeconds
		p.Sockets += n.Sockets
		p.Rates.add(f)
		p.ErrorsPerS += f.perSecond(f.Errors)
		latency.add(&f.Latency)
	}
	p.Rates.round()
	p.ErrorsPerS = roundTenth(p.ErrorsPerS)
	p.LatencyMS = latency.times()
	for i, partition := range b.Partitions {
		p.Lags[i] = partition.Lag
		p.Pending += partition.Pending
		p.Dead += partition.Dead
	}
	for _, s := range b.Sales {
		if s.Phase == shop.Open && !s.Paused {
			p.Open++
		}
	}
	return p
}

// removeReports removes the fields that were needed only for the sums.
func (b *Board) removeReports() {
	for i := range b.Nodes {
		b.Nodes[i].Report = nil
	}
}

// add adds the counts of a node.
func (r *Rates) add(f *Flow) {
	r.BuysPerS += f.perSecond(f.Buys)
	r.ReservedPerS += f.perSecond(f.Reserved)
	r.ConfirmedPerS += f.perSecond(f.Confirmed)
	r.HiddenPerS += f.perSecond(f.Hidden)
	for code, count := range f.Rejected {
		r.RejectedPerS[code] = roundTenth(r.RejectedPerS[code] + f.perSecond(count))
	}
}

// round rounds the sums; add has rounded the rejected buys.
func (r *Rates) round() {
	for _, rate := range []*float64{&r.BuysPerS, &r.ReservedPerS, &r.ConfirmedPerS, &r.HiddenPerS} {
		*rate = roundTenth(*rate)
	}
}

// perSecond returns at least 0.1 for a count above 0: a value rounded to 0 would look like no activity.
func (f *Flow) perSecond(n int64) float64 {
	if n <= 0 || f.OverMS <= 0 {
		return 0
	}
	return max(.1, float64(n)*1000/float64(f.OverMS))
}

// sales returns the sales of the open slots and of the next one. While the database is unavailable, it returns only
// the sales in memory.
func (r *Reader) sales(ctx context.Context, now shop.Millis) ([]Sale, error) {
	sales := r.boardSales(ctx, now)
	if len(sales) == 0 {
		return []Sale{}, nil
	}
	counters, err := r.Counters(ctx, shop.RefsOf(sales))
	if err != nil && shop.UnreachableIn(err) == nil {
		return nil, err
	}
	return r.withRates(sales, counters, now), nil
}

// StuckSales counts the sales of the board that wait for an operator after a recovery.
func (r *Reader) StuckSales(ctx context.Context) (n int64, err error) {
	sales, err := r.sales(ctx, r.Now())
	for i := range sales {
		if sales[i].Stuck != "" {
			n++
		}
	}
	return n, err
}

// boardSales lists the sales of the board that can be read. The next slot counts if it starts within 24 hours.
func (r *Reader) boardSales(ctx context.Context, now shop.Millis) (sales []*shop.Sale) {
	if r.Catalogue == nil {
		return nil
	}
	slots, err := r.Catalogue.SlotsBetween(ctx, now, now.Add(24*time.Hour))
	if err != nil {
		return nil
	}
	hasNext := false
	for _, slot := range slots {
		if slot.Phase == shop.Upcoming && hasNext {
			continue
		}
		hasNext = hasNext || slot.Phase == shop.Upcoming
		if slotSales, err := r.Catalogue.SalesOfSlot(ctx, slot.ID); err == nil {
			sales = append(sales, slotSales...)
		}
	}
	return sales[:min(len(sales), MaxSales)]
}

// withRates returns each sale with its counters and its rate.
func (r *Reader) withRates(sales []*shop.Sale, counters []shop.Counters, now shop.Millis) []Sale {
	r.mu.Lock()
	defer r.mu.Unlock()
	rates := make(map[shop.ID]*saleRate, len(sales))
	shown := make([]Sale, len(sales))
	for i, s := range sales {
		c := counters[i]
		known := r.rates[s.ID]
		if known == nil {
			known = &saleRate{at: now, done: c.Done}
		} else if over := now.Sub(known.at); over >= minRatePeriod {
			known = &saleRate{at: now, done: c.Done, rate: float64(max(0, c.Done-known.done)) / over.Seconds()}
		}
		rates[s.ID] = known
		c.Rate = roundTenth(known.rate)
		shown[i] = boardSale(s, c, now)
	}
	r.rates = rates
	return shown
}

func boardSale(s *shop.Sale, c shop.Counters, now shop.Millis) Sale {
	v := shop.ViewOf(s, c, now)
	return Sale{
		ID: v.ID, Name: v.Product.Name, Phase: v.Phase, Paused: v.Paused, Stuck: c.Stuck, Stock: v.Stock, Held: v.Held,
		Sold: v.Sold, Initial: v.Initial, Added: v.Added, Withdrawn: c.Withdrawn, Rate: c.Rate,
		Watching: c.Watching, OpensAt: v.OpensAt, ClosesAt: v.ClosesAt,
	}
}
