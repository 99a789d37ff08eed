package api

import (
	"cmp"
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/limits"
	"stampede/app/privacy"
	"stampede/app/shop"
)

type (
	tokenBody struct {
		Token string `json:"token"`
	}
	emailResponse struct {
		Email string `json:"email"`
	}
	// emptyResult is the response {}.
	emptyResult struct{}
)

// accountRoutes registers the routes for registration, login and account management.
func (a *api) accountRoutes(v1 fiber.Router) {
	auth := v1.Group("/auth", a.limit(limits.Auth), a.requireShopPage)
	auth.Get("/captcha", a.captcha)
	auth.Post("/register", a.register)
	auth.Post("/activate", withBody(a.activate))
	auth.Post("/unregister", withBody(func(ctx context.Context, b tokenBody) (emptyResult, error) {
		return emptyResult{}, a.Accounts.Unregister(ctx, b.Token)
	}))
	auth.Post("/login", a.logIn)
	auth.Post("/refresh", a.refresh)
	auth.Post("/logout", a.logOut)
	auth.Post("/forgot",
		alwaysAccepted(func(ctx context.Context,
			f account.ResetRequest,
		) error {
			return a.Accounts.RequestReset(ctx, f)
		}))
	auth.Post("/reset", withBody(func(ctx context.Context, n account.NewPassword) (emptyResult, error) {
		return emptyResult{}, a.Accounts.Reset(ctx, n)
	}))

	v1.Get("/me", a.limit(limits.Orders), a.asIdentity(func(c *fiber.Ctx, who shop.Identity) error {
		return respond(c, func(ctx context.Context) (account.Me, error) { return a.Accounts.Me(ctx, who) })
	}))
	v1.Patch("/me", a.limit(limits.Orders), a.asIdentity(onMyAccount(a.Accounts.EditMe)))
	// This route and /me/delete use the login limits, because they could be used to guess passwords.
	v1.Post("/me/password", a.limit(limits.Auth), a.asIdentity(onMyAccount(
		func(ctx context.Context, who shop.Identity, p account.PasswordChange) (emptyResult, error) {
			return emptyResult{}, a.Accounts.ChangePassword(ctx, who, p)
		})))
	v1.Get("/me/devices", a.limit(limits.Orders), a.asIdentity(a.devices))
	v1.Delete("/me/devices/:id", a.limit(limits.Orders), a.asIdentity(a.removeDevice))
}

// requireShopPage rejects requests from pages of other sites. Browsers mark such requests with Sec-Fetch-Site; old
// browsers only send Origin.
func (a *api) requireShopPage(c *fiber.Ctx) error {
	origin := c.Get(fiber.HeaderOrigin)
	switch site := c.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return c.Next()
	case "":
		if origin == "" || a.originAllowed(origin, c.Get(fiber.HeaderHost)) {
			return c.Next()
		}
	}
	return shop.Fail(shop.Forbidden, "requests from pages of other sites are not allowed")
}

// withBody returns the handler of a service call whose only input is the body.
func withBody[B, T any](call func(ctx context.Context, body B) (T, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var body B
		if err := decode(raw(c), &body); err != nil {
			return err
		}
		return respond(c, func(ctx context.Context) (T, error) { return call(ctx, body) })
	}
}

// alwaysAccepted returns a handler whose response does not depend on the result.
func alwaysAccepted[B any](call func(ctx context.Context, body B) error) fiber.Handler {
	handle := withBody(func(ctx context.Context, body B) (emptyResult, error) { return emptyResult{}, call(ctx, body) })
	return func(c *fiber.Ctx) error {
		c.Status(fiber.StatusAccepted)
		return handle(c)
	}
}

// onMyAccount returns the handler of an operation on the caller's account. B is the type of the body.
func onMyAccount[B, T any](
	call func(ctx context.Context, who shop.Identity, body B) (T, error),
) func(c *fiber.Ctx, who shop.Identity) error {
	return func(c *fiber.Ctx, who shop.Identity) error {
		return withBody(func(ctx context.Context, body B) (T, error) { return call(ctx, who, body) })(c)
	}
}

// captcha draws a captcha picture, with a limit per address.
func (a *api) captcha(c *fiber.Ctx) error {
	client := admission.PictureClient{From: hostAddr(c.IP())}
	return respond(c, func(ctx context.Context) (account.Picture, error) { return a.Accounts.Captcha(ctx, client) })
}

// register links the account to the guest whose token is in the request. An invalid token is rejected: otherwise the
// guest would lose access to the orders without an error.
func (a *api) register(c *fiber.Ctx) error {
	var guest shop.Identity
	if bearer(c) != "" {
		var err error
		if guest, err = a.identity(c); err != nil {
			return err
		}
	}
	return alwaysAccepted(func(ctx context.Context, r account.Registration) error {
		r.Guest = guest
		return a.Accounts.Register(ctx, r)
	})(c)
}

func (a *api) activate(ctx context.Context, n account.Activation) (emailResponse, error) {
	email, err := a.Accounts.Activate(ctx, n)
	return emailResponse{email}, err
}

func (a *api) logIn(c *fiber.Ctx) error {
	var l account.LogIn
	if err := decode(raw(c), &l); err != nil {
		return err
	}
	if l.Client != "" && l.Client != appClient {
		return shop.Fail(shop.BadRequest, `client must be "app"; browsers omit it`)
	}
	l.Addr = hostAddr(c.IP())
	// Clients may send an expired token; the login then has no guest.
	l.Guest, _ = a.identity(c)
	l.Device = cmp.Or(l.Device, browserName(c.Get(fiber.HeaderUserAgent)))
	return respond(c, func(ctx context.Context) (account.Session, error) {
		session, err := a.Accounts.LogIn(ctx, l)
		return a.placeRefreshToken(c, session, l.Client == appClient), err
	})
}

func (a *api) devices(c *fiber.Ctx, who shop.Identity) error {
	return respondList(c, "devices", func(ctx context.Context) ([]account.MyDevice, error) {
		return a.Accounts.MyDevices(ctx, who)
	})
}

func (a *api) removeDevice(c *fiber.Ctx, who shop.Identity) error {
	return byID(func(ctx context.Context, device shop.ID) (emptyResult, error) {
		return emptyResult{}, a.Accounts.RemoveDevice(ctx, who, device)
	})(c)
}

// addressRoutes registers the routes of the caller's address book. Guests also have an address book.
func (a *api) addressRoutes(v1 fiber.Router) {
	v1.Get("/me/addresses", a.limit(limits.Orders), a.asUser(a.addresses))
	v1.Post("/me/addresses", a.limit(limits.Orders), a.asUser(a.addAddress))
	v1.Put("/me/addresses/:id", a.limit(limits.Orders), a.asUser(onMyObject(a.changeAddress)))
	v1.Delete("/me/addresses/:id", a.limit(limits.Orders), a.asUser(a.removeAddress))
}

func (a *api) addresses(c *fiber.Ctx, user shop.ID) error {
	return respondList(c, "addresses", func(ctx context.Context) ([]shop.SavedAddress, error) {
		return a.Addresses.Addresses(ctx, user)
	})
}

func (a *api) addAddress(c *fiber.Ctx, user shop.ID) error {
	return withBody(func(ctx context.Context, entry shop.SavedAddress) (shop.SavedAddress, error) {
		return a.Addresses.AddAddress(ctx, user, entry)
	})(c)
}

func (a *api) changeAddress(ctx context.Context, user, id shop.ID, entry shop.SavedAddress) (shop.SavedAddress, error) {
	entry.ID = id
	return a.Addresses.ChangeAddress(ctx, user, entry)
}

func (a *api) removeAddress(c *fiber.Ctx, user shop.ID) error {
	return byID(func(ctx context.Context, id shop.ID) (emptyResult, error) {
		return emptyResult{}, a.Addresses.RemoveAddress(ctx, user, id)
	})(c)
}

type deleteBody struct {
	Password string `json:"password"`
}

// dataRoutes registers the routes for personal data of accounts and guests.
func (a *api) dataRoutes(v1 fiber.Router) {
	v1.Get("/me/export", a.limit(limits.Orders), a.asIdentity(a.export))
	v1.Post("/me/delete", a.limit(limits.Auth), a.asIdentity(a.deleteMe))
}

// export sends the data as one file download.
func (a *api) export(c *fiber.Ctx, who shop.Identity) error {
	c.Attachment("stampede-data.json")
	return respond(c, func(ctx context.Context) (privacy.Export, error) { return a.Data.Export(ctx, who) })
}

func (a *api) deleteMe(c *fiber.Ctx, who shop.Identity) error {
	var b deleteBody
	if err := decodeOptional(c, &b); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (emptyResult, error) {
		err := a.Data.Delete(ctx, who, b.Password)
		if err == nil {
			a.setRefresh(c, "")
		}
		return emptyResult{}, err
	})
}
