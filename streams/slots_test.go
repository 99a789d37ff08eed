package streams

import (
	"slices"
	"testing"
)

// The keys of stored data contain the tags, so the tags must never change.
func TestTagsStayTheSame(t *testing.T) {
	t.Parallel()
	if slot := slotOf("123456789"); slot != 12739 { // 0x31c3, the check value of the specification
		t.Fatalf("got slot %d of the test key, want 12739", slot)
	}
	if tags := tagsOf(3, true); !slices.Equal(tags, []string{"0.62", "1.0", "2.41"}) {
		t.Errorf("in a cluster: got tags %v, want 0.62, 1.0, 2.41", tags)
	}
	if tags := tagsOf(3, false); !slices.Equal(tags, []string{"0", "1", "2"}) {
		t.Errorf("on one server: got tags %v, want 0, 1, 2", tags)
	}
}

// If primaries have equal slot ranges, their numbers of partitions differ by at most one.
func TestPartitionsAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2, 3, 8, 16, 64, 256} {
		tags := tagsOf(partitions, true)
		for primaries := 1; primaries <= partitions; primaries++ {
			has := make([]int, primaries)
			for _, tag := range tags {
				has[slotOf(tag)*primaries/clusterSlots]++
			}
			if slices.Max(has) > partitions/primaries+2 || slices.Min(has) < partitions/primaries-1 {
				t.Errorf("%d partitions on %d primaries: got the uneven numbers %v", partitions, primaries, has)
			}
		}
	}
}
