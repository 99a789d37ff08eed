package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/gofiber/fiber/v2"

	"stampede/app/journal"
	"stampede/app/shop"
)

// operationKey is the header with the idempotency key of an operation: operations with the same key are performed once.
const operationKey = "Idempotency-Key"

// asActor passes the operator and the idempotency key as a journal.Actor to the handler. It is the only place where
// routes create a journal.Actor.
func (f *front) asActor(handle func(c *fiber.Ctx, actor journal.Actor) error) fiber.Handler {
	return f.asOperator(func(c *fiber.Ctx, who shop.Identity) error {
		key := c.Get(operationKey)
		if err := journal.CheckOperationKey(key); err != nil {
			return err
		}
		note, err := noteOf(c)
		if err != nil {
			return err
		}
		return handle(c, journal.Actor{
			User: who.User, Name: who.Name, Role: who.Role, Via: journal.ViaHTTP,
			From: hostAddr(c.IP()).String(), Request: requestID(c), Key: key, Hash: requestHash(c), Note: note,
		})
	})
}

// noteOf returns the optional note in a JSON body, which is the reason of the operator. It returns "" for files.
func noteOf(c *fiber.Ctx) (string, error) {
	var b noteBody
	if body := raw(c); len(body) == 0 || body[0] != '{' {
		return "", nil
	}
	err := decode(raw(c), &b)
	return b.Note, err
}

// requestHash returns the hash of method, URL and body.
func requestHash(c *fiber.Ctx) string {
	h := sha256.New()
	h.Write([]byte(c.Method() + "\n" + c.OriginalURL() + "\n"))
	h.Write(raw(c))
	return hex.EncodeToString(h.Sum(nil))
}

// operationWith returns the handler of an operation with a body.
func operationWith[B, T any](
	call func(ctx context.Context, actor journal.Actor, body B) (T, error),
) func(c *fiber.Ctx, actor journal.Actor) error {
	return func(c *fiber.Ctx, actor journal.Actor) error {
		return withBody(func(ctx context.Context, body B) (T, error) { return call(ctx, actor, body) })(c)
	}
}

// operationOn returns the handler of an operation on the object in the path. B is the type of the body.
func operationOn[B, T any](
	call func(ctx context.Context, actor journal.Actor, id shop.ID, body B) (T, error),
) func(c *fiber.Ctx, actor journal.Actor) error {
	return func(c *fiber.Ctx, actor journal.Actor) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		var body B
		if err := decodeOptional(c, &body); err != nil {
			return err
		}
		return respond(c, func(ctx context.Context) (T, error) { return call(ctx, actor, id, body) })
	}
}
