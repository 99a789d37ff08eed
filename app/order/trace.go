package order

import (
	"time"

	"stampede/app/shop"
	"stampede/app/trace"
)

// receipted returns a then that also ends the span of a traced buy with the result.
func receipted(span *trace.Span, then func(Receipt, error)) func(Receipt, error) {
	if span == nil {
		return then
	}
	return func(r Receipt, err error) {
		then(r, err)
		if err == nil {
			span.NoteID("order", int64(r.Order))
			span.Note("state", string(r.State))
		}
		span.Finish(err)
	}
}

// stages are the spans of the traced entries of a batch, by their positions; nil, as nearly always, when none is.
type stages map[int]*trace.Span

// follow begins the spans of the traced entries: how long each waited in its stream, which ends now, and how long the
// batch takes. Redelivered entries get a new span.
func (f *Fulfiller) follow(entries []shop.Entry) stages {
	if f.Tracer == nil {
		return nil
	}
	var s stages
	for i := range entries {
		e := &entries[i]
		waited := f.Tracer.Follow(e.Trace, "entry", e.ReservedAt.Time())
		if waited == nil {
			continue
		}
		waited.NoteID("order", int64(e.Order))
		waited.NoteID("sale", int64(e.Sale))
		waited.NoteNumber("partition", int64(e.Partition))
		waited.Note("entry", e.StreamID)
		if s == nil {
			s = make(stages)
		}
		s[i] = waited.Child("fulfil")
		s[i].NoteNumber("entries", int64(len(entries)))
		waited.FinishAt(s[i].Begin, nil)
	}
	return s
}

// step begins a step of the batch in each of its traces, and answers what ends it.
func (s stages) step(name string, batch []int) (finish func(err error)) {
	if s == nil {
		return func(error) {}
	}
	var steps []*trace.Span
	for _, at := range batch {
		if span := s[at]; span != nil {
			steps = append(steps, span.Child(name))
		}
	}
	return func(err error) {
		now := time.Now()
		for _, span := range steps {
			span.FinishAt(now, err)
		}
	}
}

// finish ends the spans of a batch: with the fault of all of it, or with the verdict on each.
func (s stages) finish(verdicts []error, err error) {
	now := time.Now()
	for at, span := range s {
		failed := err
		if failed == nil {
			failed = verdicts[at]
		}
		span.FinishAt(now, failed)
	}
}

// handedOn answers the entry as what follows shall see it: its trace goes on behind its span, if it has one.
func (s stages) handedOn(at int, e *shop.Entry) *shop.Entry {
	span := s[at]
	if span == nil {
		return e
	}
	traced := *e
	traced.Trace = &span.SpanRef
	return &traced
}
