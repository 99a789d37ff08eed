package app

import "context"

// Reposter sends postings to the back office once more, for operators.
type Reposter struct {
	Outbox  OutboxStore
	Journal *Journal
}

// Repost has everything that reached the back office since the instant appended to its stream once more, and returns
// the number of entries. A worker appends them.
func (r *Reposter) Repost(ctx context.Context, actor Actor, since Millis) (int64, error) {
	return actFor[int64](ctx, r.Journal, actor, func(ctx context.Context) (Act, error) {
		n, err := r.Outbox.Repost(ctx, since)
		after := map[string]any{"since": since, "entries": n}
		return Act{Kind: "backoffice.repost", Object: "backoffice", After: after, Answer: n}, err
	})
}
