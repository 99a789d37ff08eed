package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type (
	addressesAnswer struct {
		Addresses []app.SavedAddress `json:"addresses"`
	}
	// nothing is the answer of what has nothing to say.
	nothing struct{}
)

// addressRoutes are everybody's own address book, guests' too.
func (a *api) addressRoutes(v1 fiber.Router) {
	v1.Get("/me/addresses", a.asUser(a.addresses))
	v1.Post("/me/addresses", a.asUser(a.addAddress))
	v1.Put("/me/addresses/:id", a.asUser(a.changeAddress))
	v1.Delete("/me/addresses/:id", a.asUser(a.removeAddress))
}

func (a *api) addresses(c *fiber.Ctx, user app.ID) error {
	return flow(c, func(ctx context.Context) (addressesAnswer, error) {
		all, err := a.Shop.Addresses(ctx, user)
		return addressesAnswer{list(all)}, err
	})
}

func (a *api) addAddress(c *fiber.Ctx, user app.ID) error {
	var entry app.SavedAddress
	if err := decode(raw(c), &entry); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.SavedAddress, error) { return a.Shop.AddAddress(ctx, user, entry) })
}

func (a *api) changeAddress(c *fiber.Ctx, user app.ID) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	var entry app.SavedAddress
	if err := decode(raw(c), &entry); err != nil {
		return err
	}
	entry.ID = id
	return flow(c, func(ctx context.Context) (app.SavedAddress, error) {
		return a.Shop.ChangeAddress(ctx, user, entry)
	})
}

func (a *api) removeAddress(c *fiber.Ctx, user app.ID) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (nothing, error) { return nothing{}, a.Shop.RemoveAddress(ctx, user, id) })
}
