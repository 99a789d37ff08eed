package streams

import "strconv"

// beginSpans begins a span for each buy of the group that is traced: the call of the script, with all tries of it.
func (q *saleQueue) beginSpans() {
	for _, w := range q.group {
		if w.buy.Span != nil {
			w.span = w.buy.Span.Child("reserve.lua")
			w.span.NoteNumber("buys", int64(len(q.group)))
			w.span.NoteNumber("partition", int64(q.sale.Partition))
		}
	}
}

// finishSpans ends them. What was decided about each is in the span of the buy.
func (q *saleQueue) finishSpans(err error) {
	for _, w := range q.group {
		if w.span != nil {
			w.span.Finish(err)
			w.span = nil
		}
	}
}

// fillTraces lays out where the traces of the group go on, and reports whether any do. It is one argument for all that
// names those who are traced, because nearly nobody is.
func (q *saleQueue) fillTraces() (traced bool) {
	for i, w := range q.group {
		if w.span == nil {
			continue
		}
		if !traced {
			traced, q.traces = true, q.traces[:0]
		}
		q.traces = strconv.AppendInt(q.traces, int64(i)+1, 10)
		q.traces = append(append(append(q.traces, '='), w.span.SpanRef.String()...), ' ')
	}
	return traced
}
