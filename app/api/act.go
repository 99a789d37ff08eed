package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// actKey is the header in which an operator names an act: the same act under the same name is done once.
const actKey = "Idempotency-Key"

// asActor passes on who acts, and under which key. It is the only place where routes make an app.Actor.
func (a *api) asActor(handle func(c *fiber.Ctx, actor app.Actor) error) fiber.Handler {
	return a.asOperator(func(c *fiber.Ctx, who app.Identity) error {
		key := c.Get(actKey)
		if err := app.CheckActKey(key); err != nil {
			return err
		}
		note, err := noteIn(c)
		if err != nil {
			return err
		}
		return handle(c, app.Actor{
			User: who.User, Name: who.Name, Role: who.Role, Via: app.ViaHTTP,
			From: hostAddr(c.IP()).String(), Request: requestID(c), Key: key, Hash: requestHash(c), Note: note,
		})
	})
}

// noteIn is the note in a JSON body: why the operator does this. It may be missing; files have none.
func noteIn(c *fiber.Ctx) (string, error) {
	var b noteBody
	if body := raw(c); len(body) == 0 || body[0] != '{' {
		return "", nil
	}
	err := decode(raw(c), &b)
	return b.Note, err
}

// requestHash is of what is asked: method, address and body.
func requestHash(c *fiber.Ctx) string {
	h := sha256.New()
	h.Write([]byte(c.Method() + "\n" + c.OriginalURL() + "\n"))
	h.Write(raw(c))
	return hex.EncodeToString(h.Sum(nil))
}

// actWith makes the handler of an act that the body describes.
func actWith[B, T any](
	call func(ctx context.Context, actor app.Actor, body B) (T, error),
) func(c *fiber.Ctx, actor app.Actor) error {
	return func(c *fiber.Ctx, actor app.Actor) error {
		return withBody(func(ctx context.Context, body B) (T, error) { return call(ctx, actor, body) })(c)
	}
}

// actOn makes the handler of an act on the object in the address. B is what the body says about it.
func actOn[B, T any](
	call func(ctx context.Context, actor app.Actor, id app.ID, body B) (T, error),
) func(c *fiber.Ctx, actor app.Actor) error {
	return func(c *fiber.Ctx, actor app.Actor) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		var body B
		if err := decodeIfAny(c, &body); err != nil {
			return err
		}
		return flow(c, func(ctx context.Context) (T, error) { return call(ctx, actor, id, body) })
	}
}
