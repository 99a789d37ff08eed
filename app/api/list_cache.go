package api

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

const (
	// listMaxAge is the maximum age of a cached list.
	listMaxAge = 3 * time.Second
	// listBytes is the limit for all lists in bytes, listBytesPerUser the limit per user or network. A list that
	// exceeds a limit is not cached.
	listBytes        = 16 << 20
	listBytesPerUser = 512 << 10
	// listOverhead is the approximate memory of an entry without its key and its body, in bytes.
	listOverhead = 200
)

// listCache caches list responses by their parsed queries, so that the spelling of a query and unknown parameters make
// no difference. The cache is used only while its switch is on. It reduces the load of the stores.
type listCache struct {
	mu        sync.Mutex
	lists     map[string]cachedList
	bytes     map[any]int // by owner; the key nil has the total
	lastSweep time.Time   // last removal of expired lists, at most once per second
}

type cachedList struct {
	body  []byte
	at    time.Time
	owner any
}

func newListCache() *listCache {
	return &listCache{lists: make(map[string]cachedList), bytes: make(map[any]int)}
}

func (l *listCache) find(key string, now time.Time) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry, found := l.lists[key]; found && now.Sub(entry.at) < listMaxAge {
		return entry.body
	}
	return nil
}

// keep stores a list unless it would exceed a limit.
func (l *listCache) keep(key string, owner any, body []byte, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.lastSweep) > time.Second {
		l.lastSweep = now
		for key, entry := range l.lists {
			if now.Sub(entry.at) >= listMaxAge {
				l.drop(key)
			}
		}
	}
	l.drop(key)
	size := listSize(key, body)
	if l.bytes[nil]+size > listBytes || l.bytes[owner]+size > listBytesPerUser {
		return
	}
	l.lists[key] = cachedList{body, now, owner}
	l.bytes[nil] += size
	l.bytes[owner] += size
}

// drop removes a list. The caller holds mu.
func (l *listCache) drop(key string) {
	entry, found := l.lists[key]
	if !found {
		return
	}
	delete(l.lists, key)
	for _, owner := range []any{nil, entry.owner} {
		if l.bytes[owner] -= listSize(key, entry.body); l.bytes[owner] == 0 {
			delete(l.bytes, owner)
		}
	}
}

func listSize(key string, body []byte) int { return len(key) + len(body) + listOverhead }

// cached sends the list of a parsed query from the cache if the switch is on; otherwise `send` sends it. The list
// belongs to the user. User 0: the list is public, and its bytes count for the network of the request.
func (f *front) cached(c *fiber.Ctx, list string, query any, user shop.ID, send func() error) error {
	if f.Switches().Lists != backoffice.ListsCached {
		return send()
	}
	key := fmt.Sprintf("%s %d %v", list, user, query)
	now := time.Now()
	if body := f.lists.find(key, now); body != nil {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(body)
	}
	if err := send(); err != nil {
		return err
	}
	var owner any = user
	if user == 0 {
		owner, _ = shop.Networks(hostAddr(c.IP()))
	}
	f.lists.keep(key, owner, bytes.Clone(c.Response().Body()), now)
	return nil
}
