package app

import (
	"context"
	"errors"
	"testing"
)

// outbox has so many postings to carry, and fails where a test wants it to.
type outbox struct {
	OutboxStore
	*trace
	waits int
	fail  error // of Append
}

func (o *outbox) ClaimOutbox(_ context.Context, _ Millis, limit int) ([]OutboxMessage, error) {
	return make([]OutboxMessage, min(o.waits, limit)), nil
}

func (o *outbox) MarkSent(_ context.Context, posted []OutboxMessage) error {
	o.add("mark %d", len(posted))
	o.waits -= len(posted)
	return nil
}

func (o *outbox) Unposted(context.Context) (int64, error) { return 7, nil }

func (o *outbox) Append(_ context.Context, postings []OutboxMessage) error {
	o.add("append %d", len(postings))
	return o.fail
}

// At least once: what is in the stream is marked after that, and what is not is not marked at all.
func TestPostingsAreMarkedAfterTheyAreInTheStream(t *testing.T) {
	t.Parallel()
	box := &outbox{trace: &trace{}, waits: postBatch + 3}
	p := &OutboxSender{Outbox: box, Stream: box, Inventory: &fakeInventory{trace: box.trace}}
	must(t, p.RunOnce(context.Background()))
	wantSteps(t, box.trace, "append 500", "mark 500", "append 3", "mark 3")
	if p.Waiting() != 7 {
		t.Error("what waits was not counted")
	}

	box = &outbox{trace: &trace{}, waits: 3, fail: ErrTransient}
	p.Outbox, p.Stream = box, box
	if err := p.RunOnce(context.Background()); !errors.Is(err, ErrTransient) {
		t.Errorf("%v", err)
	}
	wantSteps(t, box.trace, "append 3")
}
