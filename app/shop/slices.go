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
func Mapped[T, U any](all []T, one func(T) U) []U {
	out := make([]U, len(all))
	for i := range all {
		out[i] = one(all[i])
	}
	return out
}

// Where returns the elements that fit, nil if no element fits.
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

// FirstOf returns the first most elements and whether all has more. The caller reads most + 1 elements.
func FirstOf[T any](what string, all []T, limit int, err error) ([]T, bool, error) {
	return all[:min(len(all), limit)], len(all) > limit, Unreadable(what, err)
}
