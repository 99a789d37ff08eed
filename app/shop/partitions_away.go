package shop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PartitionsAway is the error of a read over several partitions of which some did not answer; the other results stand
// beside it. If nothing answered, the error is another one.
type PartitionsAway struct {
	Partitions map[int]error
}

// AwayOf is the part of err that says which partitions did not answer, and nil when err says something else.
func AwayOf(err error) *PartitionsAway {
	var away *PartitionsAway
	if errors.As(err, &away) {
		return away
	}
	return nil
}

// Has reports whether the partition did not answer; of nil none did not.
func (a *PartitionsAway) Has(partition int) bool { return a != nil && a.Partitions[partition] != nil }

func (a *PartitionsAway) Error() string {
	words := make([]string, 0, len(a.Partitions))
	for _, p := range slices.Sorted(maps.Keys(a.Partitions)) {
		words = append(words, fmt.Sprintf("partition %d: %v", p, a.Partitions[p]))
	}
	return strings.Join(words, "; ")
}

// Unwrap makes it what its partitions failed with: a transient fault, nearly always.
func (a *PartitionsAway) Unwrap() []error { return slices.Collect(maps.Values(a.Partitions)) }
