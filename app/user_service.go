package app

import (
	"context"
	"errors"
)

// UserService changes accounts for operators.
type UserService struct {
	Users   UserStore
	Devices DeviceStore
	Data    *PersonalData
	Journal *Journal
}

// SetRole sets the role of an active account and revokes its devices, whose tokens carry the old role. NotFound: there
// is no such account. WrongState: it is not active.
func (s *UserService) SetRole(ctx context.Context, actor Actor, id ID, role Role) (User, error) {
	switch role {
	case Shopper, Operator, Admin:
	default:
		return User{}, Fail(BadRequest, "role must be shopper, operator or admin")
	}
	var u User
	_, err := s.Journal.Act(ctx, actor, func(ctx context.Context) (_ Act, err error) {
		if u, err = s.account(ctx, id); err != nil {
			return Act{}, err
		}
		return Act{
			Kind: "user.role", Object: object("user", id),
			Before: map[string]any{"role": u.Role}, After: map[string]any{"role": role},
		}, s.Users.SetRole(ctx, id, role)
	})
	if errors.Is(err, ErrNoRow) {
		return u, Fail(WrongState, "the account is not active yet: the link in its mail was not opened")
	}
	u.Role = role
	return u, err
}

// RevokeUser logs an account out on all its devices and returns their number. NotFound: there is no such account.
func (s *UserService) RevokeUser(ctx context.Context, actor Actor, id ID) (int, error) {
	if _, err := s.account(ctx, id); err != nil {
		return 0, err
	}
	return actFor[int](ctx, s.Journal, actor, func(ctx context.Context) (Act, error) {
		gone, err := s.Devices.RevokeDevices(ctx, id, 0)
		return Act{
			Kind: "user.revoke", Object: object("user", id), After: map[string]any{"devices": gone}, Answer: len(gone),
		}, err
	})
}

// DeleteUser deletes the data of an account or of a guest, of whom nothing but the id is known.
func (s *UserService) DeleteUser(ctx context.Context, actor Actor, id ID) error {
	_, err := s.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		return Act{Kind: "user.delete", Object: object("user", id)}, s.Data.erase(ctx, id, nil)
	})
	return err
}

// account reads an account that is not deleted.
func (s *UserService) account(ctx context.Context, id ID) (User, error) {
	u, err := s.Users.UserByID(ctx, id)
	if errors.Is(err, ErrNoRow) || err == nil && u.State == UserDeleted {
		return u, Fail(NotFound, "no account has that id")
	}
	return u, Unreadable("the account", err)
}
