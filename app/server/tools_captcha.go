package server

import (
	"context"

	"stampede/app"
	"stampede/app/account"
)

// CaptchaReader answers what pictures show, for rehearsals in which programs stand for people. It needs Redis, as only
// operators reach it.
func (t *Tools) CaptchaReader(ctx context.Context) (func(ctx context.Context, id string) (string, error), error) {
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	now := func() app.Millis { return 0 } // nothing is drawn here
	return account.NewCaptchas(account.NewShelf(t.stores.client), now).Learn, nil
}
