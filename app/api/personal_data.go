package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// PersonalData is what people ask of the shop about what it keeps of them. Errors are as those of Shop.
type PersonalData interface {
	// Export reads everything that is kept of somebody.
	Export(ctx context.Context, who app.Identity) (app.Export, error)
	// Delete has it go. An account proves itself by its password, a guest by the token alone.
	Delete(ctx context.Context, who app.Identity, password string) error
}

type deleteBody struct {
	Password string `json:"password"`
}

// dataRoutes are for accounts and guests.
func (a *api) dataRoutes(v1 fiber.Router) {
	v1.Get("/me/export", a.asWho(a.export))
	v1.Post("/me/delete", a.asWho(a.deleteMe))
}

// export answers one document, which browsers keep as a file.
func (a *api) export(c *fiber.Ctx, who app.Identity) error {
	c.Attachment("stampede-data.json")
	return flow(c, func(ctx context.Context) (app.Export, error) { return a.Data.Export(ctx, who) })
}

// deleteMe counts for the address like a log in: somebody may be trying passwords.
func (a *api) deleteMe(c *fiber.Ctx, who app.Identity) error {
	if err := a.logins.take(c.IP()); err != nil {
		return err
	}
	var b deleteBody
	if err := decodeIfAny(c, &b); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (done, error) {
		err := a.Data.Delete(ctx, who, b.Password)
		if err == nil {
			setRefresh(c, "")
		}
		return done{}, err
	})
}
