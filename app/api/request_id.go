package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"stampede/app/shop"
)

// maxRequestID is the maximum length of a request id from a client or a proxy, in bytes.
const maxRequestID = 64

// setRequestID sets the request id on request and response. It keeps the id of the client if validRequestID accepts it;
// otherwise it creates an id.
func setRequestID(ctx *fasthttp.RequestCtx) {
	id := string(ctx.Request.Header.Peek(fiber.HeaderXRequestID))
	if !validRequestID(id) {
		id = newRequestID()
		ctx.Request.Header.Set(fiber.HeaderXRequestID, id)
	}
	ctx.Response.Header.Set(fiber.HeaderXRequestID, id)
}

// validRequestID reports whether the id has at most maxRequestID bytes and needs no escapes in a header, a log line or
// JSON.
func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// requestID returns the id that setRequestID has set.
func requestID(c *fiber.Ctx) string { return c.GetRespHeader(fiber.HeaderXRequestID) }

// logContext returns a context whose log lines contain the request id, and the order or sale in the path. The values
// are copied, because the request must not be used after its handler has returned.
func logContext(c *fiber.Ctx) context.Context {
	ids := []any{"request", strings.Clone(requestID(c))}
	parts := strings.Split(strings.TrimPrefix(c.Path(), apiPath), "/")
	for i := range len(parts) - 1 {
		id, err := shop.ParseID(parts[i+1])
		if name := idKinds[parts[i]]; name != "" && err == nil {
			ids = append(ids, name, id)
		}
	}
	return shop.WithLogIDs(context.Background(), ids...)
}

// idKinds maps a path segment to the kind of the id that follows.
var idKinds = map[string]string{"orders": "order", "refunds": "order", "sales": "sale"}
