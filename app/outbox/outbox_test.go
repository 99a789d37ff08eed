package outbox

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// outbox contains n postings and returns the errors that a test sets.
type outbox struct {
	Store
	*fakes.Trace
	waiting int
	fail    error // result of Append
	lost    error // result of Check
}

func (o *outbox) ClaimOutbox(_ context.Context, _ shop.Millis, limit int) ([]Message, error) {
	return make([]Message, min(o.waiting, limit)), nil
}

func (o *outbox) MarkSent(_ context.Context, posted []Message, _, sent shop.Millis) error {
	o.Add("mark %d at %d", len(posted), sent)
	o.waiting -= len(posted)
	return nil
}

func (o *outbox) LastSent(context.Context) (shop.Millis, error) { return 5, nil }

func (o *outbox) Repost(_ context.Context, since shop.Millis) (int64, error) {
	o.Add("repost since %d", since)
	return 1, nil
}

func (o *outbox) RecordGroups(_ context.Context, groups []string) error {
	o.Add("note %v", groups)
	return nil
}

func (o *outbox) Groups(context.Context) ([]string, error) { return []string{"noted"}, nil }

func (o *outbox) Check(context.Context, shop.Millis) ([]string, error) {
	return []string{"found"}, o.lost
}

func (o *outbox) MakeGroups(_ context.Context, groups []string) error {
	o.Add("make %v", groups)
	return nil
}

func (o *outbox) Confirm(context.Context, *LostError) error {
	o.Add("confirm")
	o.lost = nil
	return nil
}

func (o *outbox) Unposted(context.Context) (int64, error) { return 7, nil }

func (o *outbox) Append(_ context.Context, last shop.Millis, postings []Message) (shop.Millis, error) {
	o.Add("append %d", len(postings))
	return last + 1, o.fail
}

// At least once: a posting is marked only after it was appended. A posting that was not appended is not marked.
func TestPostingsAreMarkedAfterAppend(t *testing.T) {
	t.Parallel()
	box := &outbox{Trace: &fakes.Trace{}, waiting: postBatch + 3}
	p := &Sender{Store: box, Stream: box, Now: (&fakes.Redis{Trace: box.Trace}).Now}
	fakes.Must(t, p.RunOnce(context.Background()))
	fakes.WantSteps(t, box.Trace, "append 500", "mark 500 at 6", "append 3", "mark 3 at 6", "note [found]")
	if p.Waiting() != 7 {
		t.Errorf("got %d waiting postings, want 7", p.Waiting())
	}

	box = &outbox{Trace: &fakes.Trace{}, waiting: 3, fail: shop.ErrTransient}
	p.Store, p.Stream = box, box
	if err := p.RunOnce(context.Background()); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("RunOnce returned %v, want ErrTransient", err)
	}
	fakes.WantSteps(t, box.Trace, "append 3")
}

// P8: lost postings are due again before the loss is confirmed, and nothing is appended before the confirmation.
func TestLostPostingsAreRepostedBeforeConfirmation(t *testing.T) {
	t.Parallel()
	box := &outbox{Trace: &fakes.Trace{}, waiting: 3, lost: fmt.Errorf("check: %w", &LostError{Mark: 3, Since: 3})}
	p := &Sender{Store: box, Stream: box, Now: (&fakes.Redis{Trace: box.Trace}).Now}
	fakes.Must(t, p.RunOnce(context.Background()))
	fakes.WantSteps(t, box.Trace, "repost since 3", "make [noted]", "confirm")
	box.Steps = nil
	fakes.Must(t, p.RunOnce(context.Background()))
	fakes.WantSteps(t, box.Trace, "append 3", "mark 3 at 6", "note [found]")
}
