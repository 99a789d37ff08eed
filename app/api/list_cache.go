package api

import (
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

const (
	// listsFor is the maximum age of a cached list.
	listsFor = 3 * time.Second
	// listsKept bounds the number of lists; further ones are not cached.
	listsKept = 4096
)

// listCache keeps answered lists by user and address. It is used only while the switch says so, to relieve the stores.
type listCache struct {
	mu    sync.Mutex
	lists map[string]keptList
}

type keptList struct {
	body []byte
	at   time.Time
}

func newListCache() *listCache { return &listCache{lists: make(map[string]keptList)} }

func (l *listCache) find(key string, now time.Time) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, found := l.lists[key]; found && now.Sub(k.at) < listsFor {
		return k.body
	}
	return nil
}

func (l *listCache) keep(key string, body []byte, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lists) >= listsKept {
		for key, k := range l.lists {
			if now.Sub(k.at) >= listsFor {
				delete(l.lists, key)
			}
		}
	}
	if len(l.lists) < listsKept {
		l.lists[key] = keptList{body, now}
	}
}

// cached answers lists of shoppers from the cache, if operators have switched it on.
func (a *api) cached(c *fiber.Ctx) error {
	if c.Method() != fiber.MethodGet || a.Switches().Lists != app.ListsCached || !isList(c.Path()) {
		return c.Next()
	}
	key := "nobody " + c.OriginalURL()
	if token := bearer(c); token != "" {
		who, err := a.Shop.Verify(token)
		if err != nil { // the route says so where it matters
			return c.Next()
		}
		key = who.User.String() + " " + c.OriginalURL()
	}
	now := time.Now()
	if body := a.lists.find(key, now); body != nil {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(body)
	}
	if err := c.Next(); err != nil {
		return err
	}
	if c.Response().StatusCode() == fiber.StatusOK {
		a.lists.keep(key, append([]byte(nil), c.Response().Body()...), now)
	}
	return nil
}

// isList reports whether the address is that of a list for shoppers.
func isList(path string) bool {
	switch rest := strings.TrimPrefix(path, apiPath); rest {
	case "/slots", "/sales", "/products", "/categories", "/orders":
		return true
	default:
		return strings.HasPrefix(rest, "/slots/") && strings.HasSuffix(rest, "/sales")
	}
}
