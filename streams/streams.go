package streams

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
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

// Inventory is the state of the sales in Redis. Each flow declares an interface with the methods that it calls.
// Recovery, gate, consumers and other background jobs use it, too. It is safe for concurrent use.
type Inventory struct {
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

	viewersMu sync.Mutex
	viewers   map[shop.SaleRef]viewersReading
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
	l := &Inventory{
		client: o.Client, blocking: cmp.Or(o.BlockingClient, o.Client), backlog: cmp.Or(o.Backlog, 50_000),
		replicas: o.Replicas, onStale: o.OnStale, metrics: o.Metrics, parts: make([]partition, o.Partitions),
		namespace: o.Namespace, frame: o.Frame, viewers: make(map[shop.SaleRef]viewersReading),
	}
	if l.onStale == nil {
		l.onStale = func(int) {}
	}
	if l.frame == nil {
		l.frame = func(o *shop.Order) []byte { b, _ := json.Marshal(o); return b }
	}
	if l.metrics == nil {
		l.metrics = NewMetrics()
	}
	for p, tag := range tagsOf(o.Partitions, IsCluster(o.Client)) {
		l.parts[p].keys = keysOf(tag)
	}
	l.servers = newServers(o.Client, l.parts)
	return l, nil
}

// Partitions returns the number of partitions.
func (l *Inventory) Partitions() int { return len(l.parts) }

// SetEpoch sets the epoch that this node's scripts carry for the partition.
func (l *Inventory) SetEpoch(partition int, epoch int64) { l.parts[partition].epoch.Store(epoch) }

// Epoch returns the epoch set by SetEpoch; 0: not set yet.
func (l *Inventory) Epoch(partition int) int64 { return l.parts[partition].epoch.Load() }

// keys returns the keys of a partition; ErrPermanent if it does not exist.
func (l *Inventory) keys(partition int) (*partitionKeys, error) {
	if partition < 0 || partition >= len(l.parts) {
		return nil, fmt.Errorf("%w: partition %d of %d", shop.ErrPermanent, partition, len(l.parts))
	}
	return &l.parts[partition].keys, nil
}

// rejection returns the error for a script's code that rejects the whole call; nil for codeDone and codeAlready.
func (l *Inventory) rejection(partition int, code int64) error {
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
	case codeHistory:
		err = fmt.Errorf("%w: Redis began another history and was not checked yet", shop.ErrTransient)
	default:
		return fmt.Errorf("%w: code %d", shop.ErrPermanent, code)
	}
	l.onStale(partition)
	return fmt.Errorf("partition %d: %w", partition, err)
}
