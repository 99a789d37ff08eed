package realtime

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"stampede/app/board"
	"stampede/app/limits"
	"stampede/app/shop"
	"stampede/app/trace"
)

// Options configures a Hub. A zero value selects the default, which is the last number in the comment of the field.
type Options struct {
	Shop    Shop
	Metrics prometheus.Registerer // nil: the metrics are counted but not published

	// Change messages. All nodes of one shop use the same namespace; shops that share a Redis server use different
	// ones.
	Redis      redis.UniversalClient
	Namespace  string
	Partitions int
	Orders     ChangedOrders // reads rows when messages may be lost
	// SequenceEnds reads the latest message number of every partition.
	SequenceEnds func(ctx context.Context) ([]shop.SequenceEnd, error)

	// Blocked reports whether the user (0: anonymous) or the address is blocked; nil: no check. Call CloseBlocked after
	// its result changes.
	Blocked func(user shop.ID, addr netip.Addr) bool

	// CurrentBanner returns the current banner for new clients; nil: no banners.
	CurrentBanner func() (n shop.Notice, ok bool)

	// BoardHistory returns the earlier points of the operators' live board; nil: this node has no board. Otherwise,
	// call ShowBoard once per second while BoardWatched is true.
	BoardHistory func(ctx context.Context) []board.Point

	// FirstPublished is called when the first event of an order is queued for clients of this node; may be nil. It must
	// be fast.
	FirstPublished func(order, sale shop.ID)

	// AdmitBuy admits a buy or returns RateLimited; nil: admits all. It must be fast.
	AdmitBuy func(user shop.ID, addr netip.Addr, sale shop.ID) error

	// Admit admits an op of a class or returns RateLimited; nil: admits all. User 0 is anonymous. It must be fast.
	Admit func(class limits.Class, user shop.ID, addr netip.Addr) error

	MaxClients int // connections per node; 50,000
	MaxPerUser int // connections per user and node; a new one closes the oldest; 10
	MaxSets    int // different watch sets per node, not counting sets of exactly one whole slot; 1,000

	Tracer *trace.Tracer // samples buys and traces them to the socket; may be nil

	OpsPerSecond float64 // steady rate of ops per connection; 20
	OpsBurst     int     // burst of ops per connection; 40

	HelloWithin time.Duration // time from the handshake to a successful hello, without server processing time; 5 s
	IdleAfter   time.Duration // a connection without any frame or pong is closed after this; 45 s
	PingEvery   time.Duration // a silent connection is pinged after this; 20 s
	WriteWithin time.Duration // time limit for one write; a slower client is closed; 5 s
	OpWithin    time.Duration // time limit for one op; 10 s
	TokenGrace  time.Duration // time for the op `renew` after a token expires; 3 s
	RetireAfter time.Duration // slots and single sales stay watched for this long after they close; 10 min
	CheckEvery  time.Duration // interval of the checks for silent connections, tokens and closed subjects; 1 s

	ProbeEvery    time.Duration // interval of reading the latest message numbers; 1 s
	MessageWithin time.Duration // a message must arrive within this time after its number was read from Redis; 5 s
	ReadWithin    time.Duration // time limit for the rows of a hello and for the database's clock; 3 s
	Overlap       time.Duration // rows are read from this long before a cursor, see follow.go; 60 s
}

// DefaultCheckEvery is the default of Options.CheckEvery.
const DefaultCheckEvery = time.Second

func (o Options) withDefaults() Options {
	o.MaxClients = cmp.Or(o.MaxClients, 50_000)
	o.MaxPerUser = cmp.Or(o.MaxPerUser, 10)
	o.MaxSets = cmp.Or(o.MaxSets, 1_000)
	o.OpsPerSecond = cmp.Or(o.OpsPerSecond, 20)
	o.OpsBurst = cmp.Or(o.OpsBurst, 40)
	o.HelloWithin = cmp.Or(o.HelloWithin, 5*time.Second)
	o.IdleAfter = cmp.Or(o.IdleAfter, 45*time.Second)
	o.PingEvery = cmp.Or(o.PingEvery, 20*time.Second)
	o.WriteWithin = cmp.Or(o.WriteWithin, 5*time.Second)
	o.OpWithin = cmp.Or(o.OpWithin, 10*time.Second)
	o.TokenGrace = cmp.Or(o.TokenGrace, 3*time.Second)
	o.RetireAfter = cmp.Or(o.RetireAfter, 10*time.Minute)
	o.CheckEvery = cmp.Or(o.CheckEvery, DefaultCheckEvery)
	o.ProbeEvery = cmp.Or(o.ProbeEvery, time.Second)
	o.MessageWithin = cmp.Or(o.MessageWithin, 5*time.Second)
	o.ReadWithin = cmp.Or(o.ReadWithin, 3*time.Second)
	o.Overlap = cmp.Or(o.Overlap, time.Minute)
	return o
}

// Hub serves the sockets of this node. Lock order: the mutex of connections or of watchSets (never both), the mutex of
// a set, the mutex of a client, any other. No lock is held during I/O.
type Hub struct {
	options Options
	metrics *metrics
	*connections
	*watchSets
	*personalEvents
	*boardViewers
}

// NewHub returns a hub. Personal events, and the op `hello` with a cursor, require Run.
func NewHub(o Options) *Hub {
	h := &Hub{options: o.withDefaults()}
	h.connections = newConnections(&h.options)
	h.watchSets = newWatchSets(&h.options, h.connections)
	h.personalEvents = newPersonalEvents(&h.options, h.connections)
	h.boardViewers = &boardViewers{conns: h.connections, watchers: make(map[*client]struct{})}
	h.metrics = newMetrics(o.Metrics, h)
	h.watchSets.metrics, h.personalEvents.metrics = h.metrics, h.metrics
	return h
}

// Run receives changes, reads the rows of clients that may have missed some, closes silent connections and drops closed
// subjects, until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.listener.Run(ctx) })
	g.Go(func() error { return h.follow(ctx) })
	for range readersAtOnce {
		g.Go(func() error { return h.helloQueue.serve(ctx, h.serveHellos) })
	}
	g.Go(func() error { return h.replayQueue.serve(ctx, h.replayPending) })
	g.Go(func() error { return h.checkClients(ctx) })
	g.Go(func() error {
		return shop.Repeat(ctx, h.options.CheckEvery, "drop closed slots and sales", h.retireOnce)
	})
	return g.Wait()
}

// leave unregisters a connection everywhere.
func (h *Hub) leave(c *client) {
	h.unwatch(c)
	h.leaveBoard(c)
	h.remove(c)
}
