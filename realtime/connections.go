package realtime

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

// connections are the open connections of this node, by user.
type connections struct {
	options *Options
	began   time.Time

	mu       sync.Mutex
	clients  map[*client]struct{}
	users    map[shop.ID][]*client // oldest first
	draining bool
	serving  sync.WaitGroup // one per client, from enter to remove

	starting atomic.Int64 // number of writers that were started and do not run yet
}

func newConnections(o *Options) *connections {
	return &connections{
		options: o, began: time.Now(), clients: make(map[*client]struct{}), users: make(map[shop.ID][]*client),
	}
}

func (cs *connections) elapsed() time.Duration { return time.Since(cs.began) }

var (
	errDraining = errors.New("draining")
	errFull     = errors.New("full")
)

// enter registers a connection. After a success, the caller calls Hub.leave exactly once.
func (cs *connections) enter(c *client) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if err := cs.checkOpenLocked(); err != nil {
		return err
	}
	cs.clients[c] = struct{}{}
	cs.serving.Add(1)
	return nil
}

// checkOpen returns an error if a new connection would be rejected now.
func (cs *connections) checkOpen() error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.checkOpenLocked()
}

func (cs *connections) checkOpenLocked() error {
	switch {
	case cs.draining:
		return errDraining
	case len(cs.clients) >= cs.options.MaxClients:
		return errFull
	}
	return nil
}

// remove unregisters a connection. It is the last step before the connection is closed.
func (cs *connections) remove(c *client) {
	cs.unregisterUser(c)
	cs.mu.Lock()
	delete(cs.clients, c)
	cs.mu.Unlock()
	cs.serving.Done()
}

// registerUser registers the connection for its user. Above MaxPerUser, it closes the oldest connections of the user.
func (cs *connections) registerUser(c *client, user shop.ID) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	all := append(slices.Clone(cs.users[user]), c)
	cs.users[user] = all
	for _, oldest := range all[:max(0, len(all)-cs.options.MaxPerUser)] {
		oldest.startClose(CloseReplaced)
	}
}

func (cs *connections) unregisterUser(c *client) {
	user := c.currentIdentity().User
	if user == 0 {
		return
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(cs.users[user]), func(other *client) bool { return other == c })
	if len(all) == 0 {
		delete(cs.users, user)
		return
	}
	cs.users[user] = all
}

// devices returns the connections of a user.
func (cs *connections) devices(user shop.ID) []*client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.users[user] // registerUser and unregisterUser replace the slice and never modify it
}

// allClients returns all connections.
func (cs *connections) allClients() []*client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.AppendSeq(make([]*client, 0, len(cs.clients)), maps.Keys(cs.clients))
}

// connectedUsers returns the users with a connection to this node.
func (cs *connections) connectedUsers() []shop.ID {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Keys(cs.users))
}

// Sizes returns the numbers of connections and users of this node.
func (cs *connections) Sizes() (sockets, users int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.clients), len(cs.users)
}
