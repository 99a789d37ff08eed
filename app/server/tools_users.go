package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app"
	"stampede/app/account"
	"stampede/streams"
)

// NewUser is an account that is to be made.
type NewUser = account.NewUser

// UserDetails is an account with its log ins.
type UserDetails struct {
	UserSummary
	Devices []app.ExportedDevice `json:"devices"`
}

// UserSummary is an account as operators see it.
type UserSummary struct {
	ID        app.ID        `json:"id"`
	Email     string        `json:"email"`
	Name      string        `json:"name"`
	Role      app.Role      `json:"role"`
	State     app.UserState `json:"state"`
	Lang      string        `json:"lang"`
	CreatedAt app.Millis    `json:"created_at"`
}

func summaryOf(u *app.User) UserSummary {
	return UserSummary{u.ID, u.Email, u.Name, u.Role, u.State, u.Lang, u.CreatedAt}
}

// AddUser makes an account. Without a password a link that sets one is handed to the stream of mails, from which a
// running server sends it.
func (t *Tools) AddUser(ctx context.Context, n NewUser) (UserSummary, error) {
	if err := t.prepared(ctx); err != nil {
		return UserSummary{}, err
	}
	if n.Password == "" {
		if err := t.connect(ctx); err != nil {
			return UserSummary{}, fmt.Errorf("mail a link (or give a password with --password): %w", err)
		}
	}
	lease, err := t.stores.db.LeaseNode(ctx)
	if err != nil {
		return UserSummary{}, fmt.Errorf("lease a node number: %w", err)
	}
	t.config.atHome(About{Addr: t.config.Listen}.Local())
	accounts := &account.Accounts{
		Users: t.stores.db, Devices: t.stores.db, Mint: lease.Mint, Now: wallClock, Public: t.config.PublicURL,
		Shelf: account.NewShelf(nil), Mailer: streams.NewMailStream(t.stores.client),
	}
	u, err := accounts.Add(ctx, n, func(u *app.User, all func(ctx context.Context) error) error {
		done, err := t.act(ctx, func(ctx context.Context) (app.Act, error) {
			after := map[string]any{"role": u.Role, "state": u.State}
			return app.Act{Kind: "user.add", Object: userObject(u.ID), After: after, Answer: u.ID}, all(ctx)
		})
		if err == nil && done.Repeated {
			err = app.Fail(app.Conflict, "this was done before, under the same key")
		}
		return err
	})
	return summaryOf(&u), errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// wallClock is the time for what only informs people.
func wallClock() app.Millis { return app.MillisOf(time.Now()) }

// Users lists accounts that are not deleted, the newest first.
func (t *Tools) Users(ctx context.Context, q app.UsersQuery) ([]UserSummary, error) {
	if err := t.prepared(ctx); err != nil {
		return nil, err
	}
	users, _, err := t.stores.db.UsersPage(ctx, q)
	out := make([]UserSummary, len(users))
	for i := range users {
		out[i] = summaryOf(&users[i])
	}
	return out, err
}

// User reads one account, by its id or its e-mail, with the log ins that have not ended.
func (t *Tools) User(ctx context.Context, who string) (UserDetails, error) {
	u, err := t.findUser(ctx, who)
	if err != nil {
		return UserDetails{}, err
	}
	found, err := t.stores.db.DevicesOf(ctx, u.ID, wallClock())
	details := UserDetails{UserSummary: summaryOf(&u), Devices: []app.ExportedDevice{}}
	for _, d := range found {
		details.Devices = append(details.Devices, app.ExportedDevice{
			ID: d.ID, Name: d.Name, CreatedAt: d.CreatedAt, LastSeenAt: d.LastSeenAt, ExpiresAt: d.ExpiresAt,
		})
	}
	return details, err
}

// SetRole sets what an account may do; its access tokens, which say the old role, end.
func (t *Tools) SetRole(ctx context.Context, who string, role app.Role) (UserSummary, error) {
	u, err := t.findUser(ctx, who)
	if err != nil {
		return UserSummary{}, err
	}
	_, err = t.act(ctx, func(ctx context.Context) (app.Act, error) {
		return app.Act{
			Kind: "user.role", Object: userObject(u.ID),
			Before: map[string]any{"role": u.Role}, After: map[string]any{"role": role},
		}, t.stores.db.SetRole(ctx, u.ID, role)
	})
	if errors.Is(err, app.ErrNoRow) {
		return UserSummary{}, app.Fail(app.WrongState, "the account is not active yet: the link in its mail was not opened")
	}
	u.Role = role
	return summaryOf(&u), err
}

// RevokeUser logs an account out on all its devices, and answers how many these were.
func (t *Tools) RevokeUser(ctx context.Context, who string) (int, error) {
	u, err := t.findUser(ctx, who)
	if err != nil {
		return 0, err
	}
	done, err := t.act(ctx, func(ctx context.Context) (app.Act, error) {
		gone, err := t.stores.db.RevokeDevices(ctx, u.ID, 0)
		return app.Act{
			Kind: "user.revoke", Object: userObject(u.ID), After: map[string]any{"devices": gone}, Answer: len(gone),
		}, err
	})
	n := 0
	if err == nil {
		err = done.Into(&n)
	}
	return n, err
}

// DeleteUser has everything go that is kept of an account, or of a guest, whose id is named. A running server blanks
// the addresses in the orders once these are over.
func (t *Tools) DeleteUser(ctx context.Context, who string) (app.ID, error) {
	u, err := t.findUser(ctx, who)
	if guest, wrong := app.ParseID(who); wrong == nil && errors.Is(err, &app.Error{Code: app.NotFound}) {
		u.ID, err = guest, nil
	}
	if err != nil {
		return 0, err
	}
	data := &app.PersonalData{Erasures: t.stores.db, Now: wallClock}
	_, err = t.act(ctx, func(ctx context.Context) (app.Act, error) {
		return app.Act{Kind: "user.delete", Object: userObject(u.ID)}, data.DeleteUser(ctx, u.ID)
	})
	return u.ID, err
}

func userObject(id app.ID) string { return "user:" + id.String() }

// findUser reads an account by its id or its e-mail.
func (t *Tools) findUser(ctx context.Context, who string) (u app.User, err error) {
	if err := t.prepared(ctx); err != nil {
		return u, err
	}
	if id, wrong := app.ParseID(who); wrong == nil {
		u, err = t.stores.db.UserByID(ctx, id)
	} else {
		var email string
		if email, err = account.ParseEmail(who); err != nil {
			return u, app.Fail(app.BadRequest, "name a user by id or e-mail")
		}
		u, err = t.stores.db.UserByEmail(ctx, email)
	}
	if errors.Is(err, app.ErrNoRow) {
		err = app.Fail(app.NotFound, "nobody has that id or e-mail")
	}
	return u, err
}
