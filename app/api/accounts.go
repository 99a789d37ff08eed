package api

import (
	"cmp"
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type (
	tokenBody struct {
		Token string `json:"token"`
	}
	emailAnswer struct {
		Email string `json:"email"`
	}
	devicesAnswer struct {
		Devices []app.MyDevice `json:"devices"`
	}
	// done is the answer of what has nothing to say.
	done struct{}
)

// accountRoutes are those of people with an account, and of those who want one.
func (a *api) accountRoutes(v1 fiber.Router) {
	auth := v1.Group("/auth", a.ownPages, a.paced)
	auth.Get("/captcha", a.captcha)
	auth.Post("/register", a.register)
	auth.Post("/activate", withBody(a.activate))
	auth.Post("/login", a.logIn)
	auth.Post("/refresh", a.refresh)
	auth.Post("/logout", a.logOut)
	auth.Post("/forgot", accepted(func(ctx context.Context, f app.Forgotten) error { return a.Accounts.Forgot(ctx, f) }))
	auth.Post("/reset", withBody(func(ctx context.Context, n app.NewPassword) (done, error) {
		return done{}, a.Accounts.Reset(ctx, n)
	}))

	v1.Get("/me", a.asWho(func(c *fiber.Ctx, who app.Identity) error {
		return flow(c, func(ctx context.Context) (app.Me, error) { return a.Accounts.Me(ctx, who) })
	}))
	v1.Patch("/me", a.asWho(ofMine(a.Accounts.EditMe)))
	v1.Post("/me/password", a.asWho(ofMine(func(ctx context.Context, who app.Identity, p app.PasswordChange) (done, error) {
		return done{}, a.Accounts.ChangePassword(ctx, who, p)
	})))
	v1.Get("/me/devices", a.asWho(a.devices))
	v1.Delete("/me/devices/:id", a.asWho(a.removeDevice))
}

// ownPages refuses what a page of somebody else has sent: browsers say so.
func (a *api) ownPages(c *fiber.Ctx) error {
	switch site := c.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
		return c.Next()
	}
	return app.Fail(app.Forbidden, "pages of other sites may not do this")
}

// paced counts a request for its address.
func (a *api) paced(c *fiber.Ctx) error {
	if err := a.logins.take(c.IP()); err != nil {
		return err
	}
	return c.Next()
}

// withBody makes the handler of a flow that needs to know what the body says, and nothing else.
func withBody[B, T any](call func(ctx context.Context, body B) (T, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var body B
		if err := decode(raw(c), &body); err != nil {
			return err
		}
		return flow(c, func(ctx context.Context) (T, error) { return call(ctx, body) })
	}
}

// accepted makes the handler of what is answered in the same way whatever comes of it.
func accepted[B any](call func(ctx context.Context, body B) error) fiber.Handler {
	handle := withBody(func(ctx context.Context, body B) (done, error) { return done{}, call(ctx, body) })
	return func(c *fiber.Ctx) error {
		c.Status(fiber.StatusAccepted)
		return handle(c)
	}
}

// ofMine makes the handler of what somebody does with their own account. B is what the body says about it.
func ofMine[B, T any](
	call func(ctx context.Context, who app.Identity, body B) (T, error),
) func(c *fiber.Ctx, who app.Identity) error {
	return func(c *fiber.Ctx, who app.Identity) error {
		return withBody(func(ctx context.Context, body B) (T, error) { return call(ctx, who, body) })(c)
	}
}

// captcha draws a picture, of which each address has its share.
func (a *api) captcha(c *fiber.Ctx) error {
	asker := app.PictureAsker{From: clientAddr(c.IP())}
	return flow(c, func(ctx context.Context) (app.Picture, error) { return a.Accounts.Captcha(ctx, asker) })
}

// register takes a guest's token along, so that the guest keeps the orders; one that is no good is refused before
// somebody finds out that they are gone.
func (a *api) register(c *fiber.Ctx) error {
	var guest app.Identity
	if token := bearer(c); token != "" {
		var err error
		if guest, err = a.Shop.Verify(token); err != nil {
			return err
		}
	}
	return accepted(func(ctx context.Context, r app.Registration) error {
		r.Guest = guest
		return a.Accounts.Register(ctx, r)
	})(c)
}

func (a *api) activate(ctx context.Context, b tokenBody) (emailAnswer, error) {
	email, err := a.Accounts.Activate(ctx, b.Token)
	return emailAnswer{email}, err
}

func (a *api) logIn(c *fiber.Ctx) error {
	var l app.LogIn
	if err := decode(raw(c), &l); err != nil {
		return err
	}
	if l.Client != "" && l.Client != appClient {
		return app.Fail(app.BadRequest, `client must be "app", or be left out by browsers`)
	}
	l.Addr = clientAddr(c.IP()).String()
	l.Device = cmp.Or(l.Device, browserName(c.Get(fiber.HeaderUserAgent)))
	return flow(c, func(ctx context.Context) (app.Session, error) {
		session, err := a.Accounts.LogIn(ctx, l)
		return handOver(c, session, l.Client == appClient), err
	})
}

func (a *api) devices(c *fiber.Ctx, who app.Identity) error {
	return flow(c, func(ctx context.Context) (devicesAnswer, error) {
		devices, err := a.Accounts.MyDevices(ctx, who)
		return devicesAnswer{list(devices)}, err
	})
}

func (a *api) removeDevice(c *fiber.Ctx, who app.Identity) error {
	device, err := pathID(c)
	if err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (done, error) { return done{}, a.Accounts.RemoveDevice(ctx, who, device) })
}
