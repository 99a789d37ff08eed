package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type addressesAnswer struct {
	Addresses []app.SavedAddress `json:"addresses"`
}

// addressRoutes are everybody's own address book, guests' too.
func (a *api) addressRoutes(v1 fiber.Router) {
	v1.Get("/me/addresses", a.asUser(a.addresses))
	v1.Post("/me/addresses", a.asUser(a.addAddress))
	v1.Put("/me/addresses/:id", a.asUser(onMine(a.changeAddress)))
	v1.Delete("/me/addresses/:id", a.asUser(a.removeAddress))
}

func (a *api) addresses(c *fiber.Ctx, user app.ID) error {
	return flow(c, func(ctx context.Context) (addressesAnswer, error) {
		all, err := a.Shop.Addresses(ctx, user)
		return addressesAnswer{list(all)}, err
	})
}

func (a *api) addAddress(c *fiber.Ctx, user app.ID) error {
	return withBody(func(ctx context.Context, entry app.SavedAddress) (app.SavedAddress, error) {
		return a.Shop.AddAddress(ctx, user, entry)
	})(c)
}

func (a *api) changeAddress(ctx context.Context, user, id app.ID, entry app.SavedAddress) (app.SavedAddress, error) {
	entry.ID = id
	return a.Shop.ChangeAddress(ctx, user, entry)
}

func (a *api) removeAddress(c *fiber.Ctx, user app.ID) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (done, error) { return done{}, a.Shop.RemoveAddress(ctx, user, id) })
}
