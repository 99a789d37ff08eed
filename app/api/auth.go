package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

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
func (a *api) identity(c *fiber.Ctx) (shop.Identity, error) {
	verified, ok := c.Locals(identityKey{}).(verifiedToken)
	if !ok {
		verified.who, verified.err = a.Verify(bearer(c))
		c.Locals(identityKey{}, verified)
	}
	return verified.who, verified.err
}

// asUser passes the verified user to the handler.
func (a *api) asUser(handle func(c *fiber.Ctx, user shop.ID) error) fiber.Handler {
	return a.asIdentity(func(c *fiber.Ctx, who shop.Identity) error { return handle(c, who.User) })
}

// asIdentity passes the identity of the verified token to the handler.
func (a *api) asIdentity(handle func(c *fiber.Ctx, who shop.Identity) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		who, err := a.identity(c)
		if err != nil {
			return err
		}
		return handle(c, who)
	}
}

// guest logs a client in without an account. A valid token keeps its user; an invalid token is unauthorized.
func (a *api) guest(c *fiber.Ctx) error {
	if a.Guest == nil {
		return shop.Fail(shop.Forbidden, "this shop requires an account; guests are not allowed")
	}
	session, err := a.Guest(bearer(c))
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(session)
}
