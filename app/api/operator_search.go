package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/app/store"
)

type (
	// operatorUser is an account with the fields for operators.
	operatorUser struct {
		ID        shop.ID        `json:"id"`
		Email     string         `json:"email,omitempty"`
		Name      string         `json:"name"`
		Role      shop.Role      `json:"role"`
		State     shop.UserState `json:"state"`
		Lang      string         `json:"lang"`
		CreatedAt shop.Millis    `json:"created_at"`
	}
	// userData contains the data of one user. Guest is true and Account is nil for a guest.
	userData struct {
		ID      shop.ID                  `json:"id"`
		Guest   bool                     `json:"guest"`
		Account *operatorUser            `json:"account,omitempty"`
		Devices []privacy.ExportedDevice `json:"devices"`
		Orders  []shop.Order             `json:"orders"`
		More    bool                     `json:"more"`
		Blocks  []store.Block            `json:"blocks"`
	}
)

// searchHandlers find orders and users.
type searchHandlers struct {
	*front
	Search *backoffice.SearchService
}

func (h *searchHandlers) routes(r fiber.Router) {
	r.Get("/orders", h.anyOperator(h.searchOrders))
	r.Get("/users", h.anyOperator(h.searchUsers))
	r.Get("/users/:id", h.anyOperator(byID(h.findUser)))
}

func (h *searchHandlers) searchOrders(c *fiber.Ctx) error {
	q := store.OrderSearch{State: shop.OrderState(c.Query("state"))}
	if q.State != "" && !q.State.HasRow() {
		return shop.Fail(shop.BadRequest, "state must be pending, paid, shipped, finished, "+
			"cancelled, expired, refused, refunding or refunded")
	}
	var err error
	if q.Sale, err = queryID(c, "sale"); err != nil {
		return err
	}
	if q.User, err = queryID(c, "user"); err != nil {
		return err
	}
	if q.Before, q.Limit, err = parseBefore(c); err != nil {
		return err
	}
	text := c.Query("q")
	return respondPage(c, "orders", func(ctx context.Context) ([]operatorOrder, bool, error) {
		orders, more, err := h.Search.SearchOrders(ctx, q, text)
		out := make([]operatorOrder, len(orders))
		for i, o := range orders {
			out[i] = operatorOrder{Order: o, User: o.User}
		}
		return out, more, err
	})
}

func (h *searchHandlers) searchUsers(c *fiber.Ctx) error {
	q := store.UserSearch{Role: shop.Role(c.Query("role"))}
	switch q.Role {
	case "", shop.Shopper, shop.Operator, shop.Admin:
	default:
		return shop.Fail(shop.BadRequest, "role must be shopper, operator or admin")
	}
	var err error
	if q.Before, q.Limit, err = parseBefore(c); err != nil {
		return err
	}
	text := c.Query("q")
	return respondPage(c, "users", func(ctx context.Context) ([]operatorUser, bool, error) {
		users, more, err := h.Search.SearchUsers(ctx, q, text)
		out := make([]operatorUser, len(users))
		for i := range users {
			out[i] = accountOf(&users[i])
		}
		return out, more, err
	})
}

func accountOf(u *shop.User) operatorUser {
	return operatorUser{u.ID, u.Email, u.Name, u.Role, u.State, u.Lang, u.CreatedAt}
}

func (h *searchHandlers) findUser(ctx context.Context, id shop.ID) (userData, error) {
	f, err := h.Search.FindUser(ctx, id)
	out := userData{
		ID: id, Guest: f.Guest, Devices: make([]privacy.ExportedDevice, len(f.Devices)), Orders: nonNilList(f.Orders),
		More: f.More, Blocks: nonNilList(f.Blocks),
	}
	if !f.Guest {
		account := accountOf(&f.User)
		out.Account = &account
	}
	for i, d := range f.Devices {
		out.Devices[i] = privacy.ExportedDevice{
			ID: d.ID, Name: d.Name, CreatedAt: d.CreatedAt, LastSeenAt: d.LastSeenAt, ExpiresAt: d.ExpiresAt,
		}
	}
	return out, err
}
