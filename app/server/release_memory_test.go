package server

import "testing"

// TestMemoryIsReleasedOnlyWhileIdle: memory is returned only while the node is idle and the gain is large enough.
func TestMemoryIsReleasedOnlyWhileIdle(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	idle := heap{allocated: 900 * mb, objects: 90 * mb, live: 88 * mb, stacks: 75 * mb, free: 4 * mb, goal: 250 * mb}
	reclaimable := idle
	reclaimable.objects, reclaimable.free = 170*mb, 20*mb
	fresh := heap{allocated: 30 * mb, objects: 22 * mb, live: 8 * mb, stacks: 2 * mb, goal: 24 * mb}
	for name, c := range map[string]struct {
		now       heap
		perSecond float64
		want      bool
	}{
		"many clients have connected":  {reclaimable, 1 * mb, true},
		"many clients are connecting":  {reclaimable, 50 * mb, false},
		"a collection is near":         {reclaimable, 9 * mb, false},
		"nothing to gain":              {idle, 1 * mb, false},
		"a node that has just started": {fresh, 0, false},
	} {
		before := c.now
		before.allocated -= c.perSecond * memoryInterval.Seconds()
		if got := c.now.idleSince(before, memoryInterval) && c.now.worthReleasing(); got != c.want {
			t.Errorf("%s: got released %t, want %t", name, got, c.want)
		}
	}
	if h := readHeap(); h.allocated <= 0 || h.objects <= 0 || h.stacks <= 0 || h.goal < h.live {
		t.Errorf("got runtime figures %+v, want positive values and a goal of at least the live memory", h)
	}
}
