package api

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// longestRequestID bounds what a client or a proxy may call its request, in bytes.
const longestRequestID = 64

// identify gives the request its id, by which it is found in the log: the one that it brought, if that is short and
// clean, else a new one. From here on request and response both carry it.
func identify(ctx *fasthttp.RequestCtx) {
	id := string(ctx.Request.Header.Peek(fiber.HeaderXRequestID))
	if !cleanRequestID(id) {
		id = newRequestID()
		ctx.Request.Header.Set(fiber.HeaderXRequestID, id)
	}
	ctx.Response.Header.Set(fiber.HeaderXRequestID, id)
}

// cleanRequestID reports whether the id can stand in a header, a log line and JSON as it is.
func cleanRequestID(id string) bool {
	return id != "" && len(id) <= longestRequestID && strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// requestID is the id that identify gave the request.
func requestID(c *fiber.Ctx) string { return c.GetRespHeader(fiber.HeaderXRequestID) }
