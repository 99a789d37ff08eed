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

// accountHandlers serve registration, login and the caller's account.
type accountHandlers struct {
	*front
	Accounts *account.Accounts
	Guest    func(bearer string) (session any, err error) // nil: guest login is off
}

// routes registers the routes for registration, login and account management.
func (h *accountHandlers) routes(v1 fiber.Router) {
	v1.Post("/auth/guest", h.limit(limits.Auth), h.guest)
	auth := v1.Group("/auth", h.limit(limits.Auth), h.requireShopPage)
	auth.Get("/captcha", h.captcha)
	auth.Post("/register", h.register)
	auth.Post("/activate", withBody(h.activate))
	auth.Post("/unregister", withBody(func(ctx context.Context, b tokenBody) (emptyResult, error) {
		return emptyResult{}, h.Accounts.Unregister(ctx, b.Token)
	}))
	auth.Post("/login", h.logIn)
	auth.Post("/refresh", h.refresh)
	auth.Post("/logout", h.logOut)
	auth.Post("/forgot",
		alwaysAccepted(func(ctx context.Context,
			f account.ResetRequest,
		) error {
			return h.Accounts.RequestReset(ctx, f)
		}))
	auth.Post("/reset", withBody(func(ctx context.Context, n account.NewPassword) (emptyResult, error) {
		return emptyResult{}, h.Accounts.Reset(ctx, n)
	}))

	v1.Get("/me", h.limit(limits.Orders), h.asIdentity(func(c *fiber.Ctx, who shop.Identity) error {
		return respond(c, func(ctx context.Context) (account.Me, error) { return h.Accounts.Me(ctx, who) })
	}))
	v1.Patch("/me", h.limit(limits.Orders), h.asIdentity(onMyAccount(h.Accounts.EditMe)))
	// This route and /me/delete use the login limits, because they could be used to guess passwords.
	v1.Post("/me/password", h.limit(limits.Auth), h.asIdentity(onMyAccount(
		func(ctx context.Context, who shop.Identity, p account.PasswordChange) (emptyResult, error) {
			return emptyResult{}, h.Accounts.ChangePassword(ctx, who, p)
		})))
	v1.Get("/me/devices", h.limit(limits.Orders), h.asIdentity(h.devices))
	v1.Delete("/me/devices/:id", h.limit(limits.Orders), h.asIdentity(h.removeDevice))
}

// requireShopPage rejects requests from pages of other sites. Browsers mark such requests with Sec-Fetch-Site; old
// browsers only send Origin.
func (f *front) requireShopPage(c *fiber.Ctx) error {
	origin := c.Get(fiber.HeaderOrigin)
	switch site := c.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return c.Next()
	case "":
		if origin == "" || f.originAllowed(origin, c.Get(fiber.HeaderHost)) {
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
func (h *accountHandlers) captcha(c *fiber.Ctx) error {
	client := admission.PictureClient{From: hostAddr(c.IP())}
	return respond(c, func(ctx context.Context) (account.CaptchaPicture, error) {
		return h.Accounts.Captcha(ctx, client)
	})
}

// register links the account to the guest whose token is in the request. An invalid token is rejected: otherwise the
// guest would lose access to the orders without an error.
func (h *accountHandlers) register(c *fiber.Ctx) error {
	var guest shop.Identity
	if bearer(c) != "" {
		var err error
		if guest, err = h.identity(c); err != nil {
			return err
		}
	}
	return alwaysAccepted(func(ctx context.Context, r account.Registration) error {
		r.Guest = guest
		return h.Accounts.Register(ctx, r)
	})(c)
}

func (h *accountHandlers) activate(ctx context.Context, n account.Activation) (emailResponse, error) {
	email, err := h.Accounts.Activate(ctx, n)
	return emailResponse{email}, err
}

func (h *accountHandlers) logIn(c *fiber.Ctx) error {
	var l account.LogIn
	if err := decode(raw(c), &l); err != nil {
		return err
	}
	if l.Client != "" && l.Client != appClient {
		return shop.Fail(shop.BadRequest, `client must be "app"; browsers omit it`)
	}
	l.Addr = hostAddr(c.IP())
	// Clients may send an expired token; the login then has no guest.
	l.Guest, _ = h.identity(c)
	l.Device = cmp.Or(l.Device, browserName(c.Get(fiber.HeaderUserAgent)))
	return respond(c, func(ctx context.Context) (account.Session, error) {
		session, err := h.Accounts.LogIn(ctx, l)
		return h.placeRefreshToken(c, session, l.Client == appClient), err
	})
}

func (h *accountHandlers) devices(c *fiber.Ctx, who shop.Identity) error {
	return respondList(c, "devices", func(ctx context.Context) ([]account.MyDevice, error) {
		return h.Accounts.MyDevices(ctx, who)
	})
}

func (h *accountHandlers) removeDevice(c *fiber.Ctx, who shop.Identity) error {
	return byID(func(ctx context.Context, device shop.ID) (emptyResult, error) {
		return emptyResult{}, h.Accounts.RemoveDevice(ctx, who, device)
	})(c)
}

// guest logs a client in without an account. A valid token keeps its user; an invalid token is unauthorized.
func (h *accountHandlers) guest(c *fiber.Ctx) error {
	if h.Guest == nil {
		return shop.Fail(shop.Forbidden, "this shop requires an account; guests are not allowed")
	}
	session, err := h.Guest(bearer(c))
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(session)
}

// addressHandlers serve the caller's address book.
type addressHandlers struct {
	*front
	Addresses *account.AddressBook
}

// routes registers the routes of the caller's address book. Guests also have an address book.
func (h *addressHandlers) routes(v1 fiber.Router) {
	v1.Get("/me/addresses", h.limit(limits.Orders), h.asUser(h.addresses))
	v1.Post("/me/addresses", h.limit(limits.Orders), h.asUser(h.addAddress))
	v1.Put("/me/addresses/:id", h.limit(limits.Orders), h.asUser(onMyObject(h.changeAddress)))
	v1.Delete("/me/addresses/:id", h.limit(limits.Orders), h.asUser(h.removeAddress))
}

func (h *addressHandlers) addresses(c *fiber.Ctx, user shop.ID) error {
	return respondList(c, "addresses", func(ctx context.Context) ([]shop.SavedAddress, error) {
		return h.Addresses.Addresses(ctx, user)
	})
}

func (h *addressHandlers) addAddress(c *fiber.Ctx, user shop.ID) error {
	return withBody(func(ctx context.Context, entry shop.SavedAddress) (shop.SavedAddress, error) {
		return h.Addresses.AddAddress(ctx, user, entry)
	})(c)
}

func (h *addressHandlers) changeAddress(
	ctx context.Context, user, id shop.ID, entry shop.SavedAddress,
) (shop.SavedAddress, error) {
	entry.ID = id
	return h.Addresses.ChangeAddress(ctx, user, entry)
}

func (h *addressHandlers) removeAddress(c *fiber.Ctx, user shop.ID) error {
	return byID(func(ctx context.Context, id shop.ID) (emptyResult, error) {
		return emptyResult{}, h.Addresses.RemoveAddress(ctx, user, id)
	})(c)
}

type deleteBody struct {
	Password string `json:"password"`
}

// dataHandlers export and delete the caller's personal data.
type dataHandlers struct {
	*front
	Data *privacy.PersonalData
}

// routes registers the routes for personal data of accounts and guests.
func (h *dataHandlers) routes(v1 fiber.Router) {
	v1.Get("/me/export", h.limit(limits.Orders), h.asIdentity(h.export))
	v1.Post("/me/delete", h.limit(limits.Auth), h.asIdentity(h.deleteMe))
}

// export sends the data as one file download.
func (h *dataHandlers) export(c *fiber.Ctx, who shop.Identity) error {
	c.Attachment("stampede-data.json")
	return respond(c, func(ctx context.Context) (privacy.Export, error) { return h.Data.Export(ctx, who) })
}

func (h *dataHandlers) deleteMe(c *fiber.Ctx, who shop.Identity) error {
	var b deleteBody
	if err := decodeOptional(c, &b); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (emptyResult, error) {
		err := h.Data.Delete(ctx, who, b.Password)
		if err == nil {
			h.setRefresh(c, "")
		}
		return emptyResult{}, err
	})
}
