package server

import (
	"context"
	"errors"

	"stampede/app"
	"stampede/streams"
)

// DeadMails lists the mails that could not be sent, oldest first.
func (t *Tools) DeadMails(ctx context.Context) ([]app.DeadMail, error) {
	mails, err := t.mailStream(ctx)
	if err != nil {
		return nil, err
	}
	return mails.Dead(ctx)
}

// RetryMails has dead mails sent once more by a running server, all of them if none is named, and hands over the id of
// each. Of all, those that cannot be sent keep none of the others back.
func (t *Tools) RetryMails(ctx context.Context, ids []string, each func(id string)) error {
	mails, err := t.mailStream(ctx)
	if err != nil {
		return err
	}
	all := len(ids) == 0
	if all {
		dead, err := mails.Dead(ctx)
		if err != nil {
			return err
		}
		for _, d := range dead {
			ids = append(ids, d.ID)
		}
	}
	if err := t.noteEach(ctx, "mail.retry", "mail", ids); err != nil {
		return err
	}
	return eachOf(ids, all, "no dead mail is called ", func(id string) error { return mails.Retry(ctx, id) }, each)
}

// DropMail forgets a dead mail.
func (t *Tools) DropMail(ctx context.Context, id string) error {
	mails, err := t.mailStream(ctx)
	if err != nil {
		return err
	}
	if err := t.noteEach(ctx, "mail.drop", "mail", []string{id}); err != nil {
		return err
	}
	there, err := mails.Drop(ctx, id)
	if err == nil && !there {
		return app.Fail(app.NotFound, "no dead mail is called "+id)
	}
	return err
}

func (t *Tools) mailStream(ctx context.Context) (*streams.MailStream, error) {
	err := t.connect(ctx)
	return streams.NewMailStream(t.stores.client), err
}

// noteEach journals what is done to the entries of a stream in Redis, before it is done: what dies in between was
// meant, and is done by whoever asks again. Nothing is journalled for no entry.
func (t *Tools) noteEach(ctx context.Context, kind, of string, ids []string) error {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		of += ":" + ids[0]
	}
	if len(of) > longestObject {
		return app.Fail(app.NotFound, "no entry has such a long name")
	}
	return t.note(ctx, app.Act{Kind: kind, Object: of, After: ids})
}

// longestObject is what the journal takes as the name of a thing.
const longestObject = 80

// eachOf works on what ids name and hands over the id of each. Of all there are, those that are gone meanwhile or
// cannot be worked on keep none of the others back.
func eachOf(ids []string, all bool, missing string, work func(id string) error, each func(id string)) error {
	var failed []error
	for _, id := range ids {
		switch err := work(id); {
		case err == nil:
			each(id)
		case errors.Is(err, app.ErrNoRow) && all: // somebody else was faster
		case errors.Is(err, app.ErrNoRow):
			return app.Fail(app.NotFound, missing+id)
		case errors.Is(err, app.ErrPermanent) && all:
			failed = append(failed, err)
		default:
			return err
		}
	}
	return errors.Join(failed...)
}
