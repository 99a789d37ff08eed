package api

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// logged is a context whose lines of the log name the request, and the order or sale that its address names. The
// request must not be asked for anything after its handler has returned, so what is named is copied.
func logged(c *fiber.Ctx) context.Context {
	ids := []any{"request", strings.Clone(requestID(c))}
	parts := strings.Split(strings.TrimPrefix(c.Path(), apiPath), "/")
	for i := range len(parts) - 1 {
		id, err := app.ParseID(parts[i+1])
		if name := named[parts[i]]; name != "" && err == nil {
			ids = append(ids, name, id)
		}
	}
	return app.WithLogIDs(context.Background(), ids...)
}

// named says what the number behind a word of an address is of.
var named = map[string]string{"orders": "order", "refunds": "order", "sales": "sale"}
