package api

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
	"stampede/app/limits"
)

// Counts are the windows in which HTTP requests are counted, by what they ask for. Presses of Buy have buckets of their
// own in memory (limits.Buys): a buy pays no round trip for its limits.
type Counts struct {
	Windows *limits.Windows // nil: nothing is counted
	// Listing is what is offered, Auth logging in, Orders what belongs to a user.
	Listing, Auth, Orders limits.Class
}

// classOf is the window of a route; none: it is not counted.
func (n *Counts) classOf(method, path string) (class limits.Class, counted bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, apiPath+"/"), "/")
	switch first {
	case "auth":
		return n.Auth, true
	case "orders", "me":
		return n.Orders, true
	case "slots", "sales", "products", "categories":
		return n.Listing, method == fiber.MethodGet || method == fiber.MethodHead
	}
	return limits.Class{}, false
}

// counted goes in front of all routes of the API. A token that is no good makes nobody of who shows it: what needs a
// user refuses it by itself, and counts it for its address alone.
func (a *api) counted(c *fiber.Ctx) error {
	if a.Counts.Windows == nil {
		return c.Next()
	}
	class, counted := a.Counts.classOf(c.Method(), c.Path())
	if !counted {
		return c.Next()
	}
	var user app.ID
	if token := bearer(c); token != "" && class.User > 0 {
		if who, err := a.Shop.Verify(token); err == nil {
			user = who.User
		}
	}
	if err := a.Counts.Windows.Take(context.Background(), class, user, hostAddr(c.IP())); err != nil {
		return err
	}
	return c.Next()
}
