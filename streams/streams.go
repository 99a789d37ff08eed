package streams

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// returnCooldown is the cooldown of units that return to an empty stock. It is longer than the life of a sold-out flag
// on a node (shop.FlagLife), so that no unit is sold while an older flag is valid (I9).
const returnCooldown = shop.FlagLife + 50*time.Millisecond

// Options configure an inventory.
type Options struct {
	// Client is for calls that return at once. Its MaxRetries must be -1: this package repeats calls itself, with the
	// same order ids and within its own time limits.
	Client redis.UniversalClient
	// BlockingClient is for blocking reads, so that these never use a connection that a buy needs. Nil: Client.
	BlockingClient redis.UniversalClient
	// Partitions is at least 1. It must match the stored data.
	Partitions int
	// Backlog is the maximum number of unsettled reservations per partition. 0: 50,000.
	Backlog int64
	// Replicas is the number of replicas that must have a buy before it is confirmed (WAIT). With 0 a failover may lose
	// buys.
	Replicas int
	// Namespace is part of the channels' names. All nodes of a shop use the same namespace; shops that share a Redis
	// server use different namespaces.
	Namespace string
	// Frame encodes the order event in messages, without line breaks. Nil: the order as JSON.
	Frame func(o *shop.Order) []byte
	// OnStale is called when the partition is not in the state that this node expects: another epoch, in recovery, or
	// absent. It must return at once. May be nil.
	OnStale func(partition int)
	Metrics *Metrics // may be nil
}

// Inventory is the state of the sales in Redis, see inventory.go for its subjects. It is safe for concurrent use.
type Inventory struct{ *connection }

// connection is shared by the subjects of the inventory, the gate, the consumers and the background jobs.
type connection struct {
	client   redis.UniversalClient
	blocking redis.UniversalClient
	backlog  int64
	replicas int
	onStale  func(partition int)
	metrics  *Metrics
	parts    []partition
	servers  *servers

	namespace string
	frame     func(o *shop.Order) []byte

	reads waitingReads

	viewers viewerCounts
}

// partition is the state of one partition in this node.
type partition struct {
	keys     partitionKeys
	epoch    atomic.Int64 // 0: not set yet
	accepted acceptedReservations
}

// New makes an inventory. It does not access Redis. Call SetEpoch for a partition before the first buy in it.
func New(o Options) (*Inventory, error) {
	if o.Client == nil {
		return nil, errors.New("streams: no Redis client")
	}
	if o.Partitions < 1 {
		return nil, fmt.Errorf("streams: %d partitions, want at least 1", o.Partitions)
	}
	c := &connection{
		client: o.Client, blocking: cmp.Or(o.BlockingClient, o.Client), backlog: cmp.Or(o.Backlog, 50_000),
		replicas: o.Replicas, onStale: o.OnStale, metrics: o.Metrics, parts: make([]partition, o.Partitions),
		namespace: o.Namespace, frame: o.Frame, viewers: viewerCounts{readings: make(map[shop.SaleRef]viewersReading)},
	}
	if c.onStale == nil {
		c.onStale = func(int) {}
	}
	if c.frame == nil {
		c.frame = func(o *shop.Order) []byte { b, _ := json.Marshal(o); return b }
	}
	if c.metrics == nil {
		c.metrics = NewMetrics()
	}
	for p, tag := range tagsOf(o.Partitions, IsCluster(o.Client)) {
		c.parts[p].keys = keysOf(tag)
	}
	c.servers = newServers(o.Client, c.parts)
	return &Inventory{c}, nil
}

// Partitions returns the number of partitions.
func (c *connection) Partitions() int { return len(c.parts) }

// SetEpoch sets the epoch that this node's scripts carry for the partition.
func (c *connection) SetEpoch(partition int, epoch int64) { c.parts[partition].epoch.Store(epoch) }

// Epoch returns the epoch set by SetEpoch; 0: not set yet.
func (c *connection) Epoch(partition int) int64 { return c.parts[partition].epoch.Load() }

// keys returns the keys of a partition; ErrPermanent if it does not exist.
func (c *connection) keys(partition int) (*partitionKeys, error) {
	if partition < 0 || partition >= len(c.parts) {
		return nil, fmt.Errorf("%w: partition %d of %d", shop.ErrPermanent, partition, len(c.parts))
	}
	return &c.parts[partition].keys, nil
}

// rejection returns the error for a script's code that rejects the whole call; nil for codeDone and codeAlready.
func (c *connection) rejection(partition int, code int64) error {
	var err error
	switch code {
	case codeDone, codeAlready:
		return nil
	case codeNotLoaded:
		return fmt.Errorf("%w: the sale is not in Redis", shop.ErrLost)
	case codeRecovering:
		err = fmt.Errorf("%w: the partition is being recovered", shop.ErrTransient)
	case codeEpoch:
		err = shop.ErrStaleEpoch
	case codeAbsent:
		err = fmt.Errorf("%w: Redis has no data of it", shop.ErrLost)
	case codeBroken:
		err = fmt.Errorf("%w: a key has a wrong type", shop.ErrLost)
	case codeBehind:
		err = fmt.Errorf("%w: Redis lacks data that this node has seen", shop.ErrLost)
	case codeTooLate:
		return shop.ErrTooLate
	case codeOtherShop:
		err = fmt.Errorf("%w: Redis has the data of another shop", shop.ErrMisconfigured)
	case codeHistory:
		err = fmt.Errorf("%w: Redis began another history and was not checked yet", shop.ErrTransient)
	default:
		return fmt.Errorf("%w: code %d", shop.ErrPermanent, code)
	}
	c.onStale(partition)
	return fmt.Errorf("partition %d: %w", partition, err)
}
