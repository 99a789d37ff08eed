package realtime

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"stampede/app/board"
	"stampede/app/limits"
	"stampede/app/shop"
	"stampede/app/trace"
)

// Options of a hub. Zero values become the defaults named.
type Options struct {
	Shop    Shop
	Metrics prometheus.Registerer // nil: counted but not published

	// Messages of changes. The namespace is the same for all nodes of one shop and differs between shops on one server.
	Redis      redis.UniversalClient
	Namespace  string
	Partitions int
	Orders     ChangedOrders // rows, when messages may be lost
	Chains     Chains        // how far the messages have come

	// Blocked reports whether the user (0: unknown) or the address is blocked; nil: none is. When its answers change,
	// call CloseBlocked.
	Blocked func(user shop.ID, addr netip.Addr) bool

	// Standing returns the notice for new clients; nil: there is none.
	Standing func() (n shop.Notice, ok bool)

	// BoardHistory returns the earlier points of the operators' live board; nil: there is no board. With one, call
	// ShowBoard once a second while BoardWatched.
	BoardHistory func(ctx context.Context) []board.Point

	// FirstTold is called for each order that is first sent to a client of this node; may be nil. It must be quick.
	FirstTold func(order, sale shop.ID)

	// MayBuy admits a buy or fails with RateLimited; nil: all are admitted. It must be quick.
	MayBuy func(user shop.ID, addr netip.Addr, sale shop.ID) error

	// Admit admits an op of a class or fails with RateLimited; nil: all are admitted. User 0 is anonymous. It must be
	// quick.
	Admit func(class limits.Class, user shop.ID, addr netip.Addr) error

	MaxClients int // connections of this node; 50,000
	MaxPerUser int // connections of one user on this node; the oldest gives way; 10
	MaxSets    int // different watch sets other than one whole slot; 1,000

	Tracer *trace.Tracer // samples buys and follows them to the socket; may be nil

	OpsPerSecond float64 // ops of one connection, as a steady rate; 20
	OpsBurst     int     // and in one go; 40

	HelloWithin time.Duration // for a successful hello after the handshake, without what answers take on our side; 5 s
	IdleAfter   time.Duration // without a word or a pong a peer is given up; 45 s
	PingEvery   time.Duration // silent peers are pinged after this; 20 s
	WriteWithin time.Duration // for one frame; a peer that takes longer is too slow; 5 s
	OpWithin    time.Duration // for one op; 10 s
	TokenGrace  time.Duration // after a token ended, for renew; 3 s
	EndedKept   time.Duration // slots and single sales are watched for this long after they have closed; 10 min
	KeepEvery   time.Duration // how often silence and tokens are looked after; 1 s

	LookEvery   time.Duration // how often the ends of the chains of messages are looked at; 1 s
	ReachWithin time.Duration // for a message to come after its number was read; 5 s
	ReadWithin  time.Duration // for rows that a hello waits for, and for the database's clock; 3 s
	Overlap     time.Duration // rows are read from this long before a cursor on, see follow.go; 60 s
}

// DefaultKeepEvery is the default of Options.KeepEvery.
const DefaultKeepEvery = time.Second

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
	o.EndedKept = cmp.Or(o.EndedKept, 10*time.Minute)
	o.KeepEvery = cmp.Or(o.KeepEvery, DefaultKeepEvery)
	o.LookEvery = cmp.Or(o.LookEvery, time.Second)
	o.ReachWithin = cmp.Or(o.ReachWithin, 5*time.Second)
	o.ReadWithin = cmp.Or(o.ReadWithin, 3*time.Second)
	o.Overlap = cmp.Or(o.Overlap, time.Minute)
	return o
}

// Hub holds the connections of this node. It is the catalog.Audience of the ticker. Lock order: mu or setsMu (never
// both), a set's mu, a client's mu, any other. None is held over I/O.
type Hub struct {
	options Options
	shop    Shop
	metrics *metrics
	began   time.Time

	mu       sync.Mutex
	clients  map[*client]struct{}
	users    map[shop.ID][]*client // the oldest first
	draining bool
	serving  sync.WaitGroup // one per client, until leave

	setsMu sync.Mutex
	sets   map[string]*watchSet
	roster map[shop.ID][]shop.ID   // sales of the slots that somebody watches
	closes map[subject]shop.Millis // when watched subjects close; one that is absent is watched no longer
	tickNo int64                   // of the newest tick
	places limits.Places           // of watch sets other than one whole slot

	beatMu sync.Mutex // the tick loop
	board  *lineTable
	beats  []*watchSet // reused from tick to tick

	news recentNews
	live liveBoard

	listener  *listener
	chainsMu  sync.Mutex // also held while the proven instant moves
	chains    chains
	wake      chan struct{}                 // the chains broke off
	proven    atomic.Pointer[provenInstant] // see follow.go; nil: none yet, or none of the present history
	histories atomic.Uint32                 // how often the database has come to another history
	// when the last instant of the former history was proven, nanoseconds since the hub began
	lastProven atomic.Int64

	hellos *queue[*replayAsk] // that wait for rows
	owed   *queue[*client]    // greeted connections whose missed rows could not be read yet
	now    singleflight.Group // reads of the database's clock

	starting atomic.Int64 // writers that were started and have not begun
}

// NewHub makes a hub. Personal events, and hellos with a cursor, need Run.
func NewHub(o Options) *Hub {
	o = o.withDefaults()
	h := &Hub{
		options: o, shop: o.Shop, began: time.Now(),
		clients: make(map[*client]struct{}), users: make(map[shop.ID][]*client),
		sets: make(map[string]*watchSet), roster: make(map[shop.ID][]shop.ID), closes: make(map[subject]shop.Millis),
		places: limits.Places{Most: o.MaxSets, User: maxSetsPerUser, Addr: maxSetsPerAddr},
		board:  newBoard(),
		live:   liveBoard{watchers: make(map[*client]struct{})},
		chains: newChains(o.Partitions, o.ReachWithin), wake: make(chan struct{}, 1),
		hellos: newQueue[*replayAsk](readersAtOnce), owed: newQueue[*client](1),
	}
	h.listener = h.newListener()
	h.metrics = newMetrics(o.Metrics, h)
	return h
}

// Run receives changes, reads rows of clients that may have missed some, and retires silent clients and closed
// subjects, until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.listener.Run(ctx) })
	g.Go(func() error { return h.follow(ctx) })
	for range readersAtOnce {
		g.Go(func() error { return h.hellos.serve(ctx, h.answerHellos) })
	}
	g.Go(func() error { return h.owed.serve(ctx, h.replayOwed) })
	g.Go(func() error { return h.keep(ctx) })
	g.Go(func() error { return shop.Repeat(ctx, h.options.KeepEvery, "let go of what is over", h.retireOnce) })
	return g.Wait()
}

func (h *Hub) elapsed() time.Duration { return time.Since(h.began) }

var (
	errDraining = errors.New("draining")
	errFull     = errors.New("full")
)

// enter registers a connection. Each success is followed by exactly one leave.
func (h *Hub) enter(c *client) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.openLocked(); err != nil {
		return err
	}
	h.clients[c] = struct{}{}
	h.serving.Add(1)
	return nil
}

// open fails if another connection would be refused now.
func (h *Hub) open() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.openLocked()
}

func (h *Hub) openLocked() error {
	switch {
	case h.draining:
		return errDraining
	case len(h.clients) >= h.options.MaxClients:
		return errFull
	}
	return nil
}

// leave is the last step for a connection before it is closed.
func (h *Hub) leave(c *client) {
	h.unwatch(c)
	h.leaveBoard(c)
	h.disown(c)
	h.mu.Lock()
	delete(h.clients, c)
	h.mu.Unlock()
	h.serving.Done()
}

// own registers the connection's user. The user's oldest connection is closed for one too many.
func (h *Hub) own(c *client, user shop.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(slices.Clone(h.users[user]), c)
	h.users[user] = all
	for _, oldest := range all[:max(0, len(all)-h.options.MaxPerUser)] {
		oldest.depart(CloseReplaced)
	}
}

func (h *Hub) disown(c *client) {
	user := c.who().User
	if user == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(h.users[user]), func(other *client) bool { return other == c })
	if len(all) == 0 {
		delete(h.users, user)
		return
	}
	h.users[user] = all
}

// devices lists a user's connections.
func (h *Hub) devices(user shop.ID) []*client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users[user] // replaced, never changed in place
}

// everybody lists all connections.
func (h *Hub) everybody() []*client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.AppendSeq(make([]*client, 0, len(h.clients)), maps.Keys(h.clients))
}
