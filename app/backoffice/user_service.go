package backoffice

import (
	"context"
	"errors"

	"stampede/app/journal"
	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/app/store"
)

// UserService changes accounts for operators.
type UserService struct {
	Store *store.Store
	Data  *privacy.PersonalData
}

// SetRole sets the role of an active account and revokes its devices, because their tokens carry the old role.
// NotFound: no such account. WrongState: it is not active.
func (s *UserService) SetRole(ctx context.Context, actor journal.Actor, id shop.ID, role shop.Role) (shop.User, error) {
	switch role {
	case shop.Shopper, shop.Operator, shop.Admin:
	default:
		return shop.User{}, shop.Fail(shop.BadRequest, "role must be shopper, operator or admin")
	}
	var u shop.User
	_, err := s.Store.RunOperation(ctx, actor, func(tx *store.Store) (_ journal.Operation, err error) {
		if u, err = account(ctx, tx, id); err != nil {
			return journal.Operation{}, err
		}
		return journal.Operation{
			Kind: "user.role", Object: object("user", id),
			Before: map[string]any{"role": u.Role}, After: map[string]any{"role": role},
		}, tx.Accounts().SetRole(ctx, id, role)
	})
	if errors.Is(err, shop.ErrNoRow) {
		return u, shop.Fail(shop.WrongState, "the account is not active: its user has not opened the activation link of the e-mail")
	}
	u.Role = role
	return u, err
}

// RevokeUser logs an account out on all its devices and returns their number. NotFound: no such account.
func (s *UserService) RevokeUser(ctx context.Context, actor journal.Actor, id shop.ID) (int, error) {
	if _, err := account(ctx, s.Store, id); err != nil {
		return 0, err
	}
	return store.RunOperationFor[int](ctx, s.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		revoked, err := tx.Sessions().RevokeDevices(ctx, id, 0)
		return journal.Operation{
			Kind: "user.revoke", Object: object("user", id), After: map[string]any{"devices": revoked}, Result: len(revoked),
		}, err
	})
}

// DeleteUser deletes the data of an account or of a guest. Of a guest only the id exists.
func (s *UserService) DeleteUser(ctx context.Context, actor journal.Actor, id shop.ID) error {
	_, err := s.Store.RunOperation(ctx, actor, func(tx *store.Store) (journal.Operation, error) {
		return journal.Operation{Kind: "user.delete", Object: object("user", id)}, s.Data.Erase(ctx, tx, id, nil)
	})
	return err
}

// account reads an account that is not deleted.
func account(ctx context.Context, db *store.Store, id shop.ID) (shop.User, error) {
	u, err := db.Accounts().UserByID(ctx, id)
	if errors.Is(err, shop.ErrNoRow) || err == nil && u.State == shop.UserDeleted {
		return u, shop.Fail(shop.NotFound, "no account has that id")
	}
	return u, shop.Unavailable("the account", err)
}
