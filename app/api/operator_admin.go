package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
)

type (
	roleBody struct {
		Role shop.Role `json:"role"`
	}
	revokedResponse struct {
		Revoked int `json:"revoked"` // number of devices
	}
	repostBody struct {
		Since shop.Millis `json:"since"`
	}
	repostResponse struct {
		Entries int64 `json:"entries"`
	}
)

// adminHandlers serve rare operations with a large effect.
type adminHandlers struct {
	*front
	Users      *backoffice.UserService
	FailedJobs *backoffice.FailedJobs
}

// routes registers routes of rare operations with a large effect: accounts and the back office's stream. Operations
// that are irreversible or grant rights require an admin.
func (h *adminHandlers) routes(r fiber.Router) {
	r.Post("/users/:id/role", h.asAdmin(operationOn(h.setRole)))
	r.Post("/users/:id/revoke", h.asAdmin(operationOn(h.revokeUser)))
	r.Post("/users/:id/delete", h.asAdmin(operationOn(h.deleteUser)))
	r.Post("/backoffice/repost", h.asActor(h.repost))
}

func (h *adminHandlers) setRole(
	ctx context.Context, actor journal.Actor, id shop.ID, b roleBody,
) (operatorUser, error) {
	u, err := h.Users.SetRole(ctx, actor, id, b.Role)
	return accountOf(&u), err
}

func (h *adminHandlers) revokeUser(
	ctx context.Context, actor journal.Actor, id shop.ID, _ noteBody,
) (revokedResponse, error) {
	n, err := h.Users.RevokeUser(ctx, actor, id)
	return revokedResponse{n}, err
}

func (h *adminHandlers) deleteUser(ctx context.Context, actor journal.Actor, id shop.ID, _ noteBody) (struct{}, error) {
	return struct{}{}, h.Users.DeleteUser(ctx, actor, id)
}

func (h *adminHandlers) repost(c *fiber.Ctx, actor journal.Actor) error {
	var b repostBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	if b.Since < 1 {
		return shop.Fail(shop.BadRequest, "since is missing: send a Unix time in milliseconds")
	}
	return respondWithLongTimeout(c, func(ctx context.Context) (repostResponse, error) {
		n, err := h.FailedJobs.Repost(ctx, actor, b.Since)
		return repostResponse{n}, err
	})
}
