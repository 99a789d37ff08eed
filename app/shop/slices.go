package shop

// Pointers returns pointers into rows. Copies of hundreds of rows would be most of a batch's allocations.
func Pointers[T any](rows []T) []*T {
	out := make([]*T, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// ByPartition groups rows by partition.
func ByPartition(rows []*Order) map[int][]*Order {
	found := make(map[int][]*Order, 1)
	for _, o := range rows {
		found[o.Partition] = append(found[o.Partition], o)
	}
	return found
}

// Mapped converts each element.
func Mapped[T, U any](all []T, convert func(T) U) []U {
	out := make([]U, len(all))
	for i := range all {
		out[i] = convert(all[i])
	}
	return out
}

// Where returns the elements that match, nil if no element matches.
func Where[T any](all []T, match func(T) bool) (matching []T) {
	for i := range all {
		if match(all[i]) {
			matching = append(matching, all[i])
		}
	}
	return matching
}

// ByID indexes rows by order ID.
func ByID(rows []Order) map[ID]*Order {
	found := make(map[ID]*Order, len(rows))
	for i := range rows {
		found[rows[i].ID] = &rows[i]
	}
	return found
}

// FirstOf returns the first elements, up to limit, and whether there are more. The caller reads limit + 1 elements; err
// is the error of this read.
func FirstOf[T any](subject string, all []T, limit int, err error) ([]T, bool, error) {
	return all[:min(len(all), limit)], len(all) > limit, Unavailable(subject, err)
}
