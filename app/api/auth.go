package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"stampede/app/journal"
	"stampede/app/shop"
)

// bearer returns the token of the Authorization header, or "".
func bearer(c *fiber.Ctx) string {
	scheme, token, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// identityKey is the key of the verifiedToken in the locals of a request.
type identityKey struct{}

// verifiedToken is the result of Verify for the token of a request.
type verifiedToken struct {
	who shop.Identity
	err error
}

// identity returns the identity of the bearer token. It verifies the token once per request and stores the result,
// because the rate limit and the handler need it.
func (f *front) identity(c *fiber.Ctx) (shop.Identity, error) {
	verified, ok := c.Locals(identityKey{}).(verifiedToken)
	if !ok {
		verified.who, verified.err = f.Verify(bearer(c))
		c.Locals(identityKey{}, verified)
	}
	return verified.who, verified.err
}

// asUser passes the verified user to the handler.
func (f *front) asUser(handle func(c *fiber.Ctx, user shop.ID) error) fiber.Handler {
	return f.asIdentity(func(c *fiber.Ctx, who shop.Identity) error { return handle(c, who.User) })
}

// asIdentity passes the identity of the verified token to the handler.
func (f *front) asIdentity(handle func(c *fiber.Ctx, who shop.Identity) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		who, err := f.identity(c)
		if err != nil {
			return err
		}
		return handle(c, who)
	}
}

// asOperator passes the verified operator to the handler.
func (f *front) asOperator(handle func(c *fiber.Ctx, who shop.Identity) error) fiber.Handler {
	return f.asIdentity(func(c *fiber.Ctx, who shop.Identity) error {
		if !who.Role.IsOperator() {
			return shop.Fail(shop.Forbidden, "this requires the role operator or admin")
		}
		return handle(c, who)
	})
}

// asAdmin is asActor for operations that require the role admin.
func (f *front) asAdmin(handle func(c *fiber.Ctx, actor journal.Actor) error) fiber.Handler {
	return f.asActor(func(c *fiber.Ctx, actor journal.Actor) error {
		if actor.Role != shop.Admin {
			return shop.Fail(shop.Forbidden, "this requires the role admin")
		}
		return handle(c, actor)
	})
}

// anyOperator is for responses that do not depend on the operator.
func (f *front) anyOperator(handle fiber.Handler) fiber.Handler {
	return f.asOperator(func(c *fiber.Ctx, _ shop.Identity) error { return handle(c) })
}
