package rehearse

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"stampede/app"
)

// NodeShare is how many of the crowd's sockets a node got.
type NodeShare struct {
	Name    string `json:"name"`
	Sockets int    `json:"sockets"`
}

// boards is what the live board has said while the rehearsal ran.
type boards struct {
	mu        sync.Mutex
	partition int
	before    map[string]int // sockets of nodes before the crowd came
	nodes     map[string]int // the most afterwards
	lag       int64          // the longest
	waiting   int64          // the most entries that waited
	oldestMS  int64
	dead      int64 // dead letters, more than before
	deadAt    int64
	failed    int // times that it could not be read
	read      int
}

func (b *boards) begin(before *app.Board, partition int) {
	b.partition, b.before, b.nodes = partition, make(map[string]int), make(map[string]int)
	for _, n := range before.Nodes {
		b.before[n.Name] = n.Sockets
	}
	for _, p := range before.Partitions {
		if p.P == partition {
			b.deadAt = p.Dead
		}
	}
}

// take adds what a board says.
func (b *boards) take(board *app.Board, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed++
		return
	}
	b.read++
	for _, n := range board.Nodes {
		if slices.Contains(n.Roles, "api") {
			b.nodes[n.Name] = max(b.nodes[n.Name], n.Sockets-b.before[n.Name])
		}
	}
	for _, p := range board.Partitions {
		if p.P == b.partition {
			b.lag, b.waiting = max(b.lag, p.Lag), max(b.waiting, p.Lag+p.Pending)
			b.oldestMS, b.dead = max(b.oldestMS, p.OldestMS), max(b.dead, p.Dead-b.deadAt)
		}
	}
}

// shares are the nodes' shares of the crowd, by name.
func (b *boards) shares() []NodeShare {
	shares := make([]NodeShare, 0, len(b.nodes))
	for name, n := range b.nodes {
		shares = append(shares, NodeShare{name, max(0, n)})
	}
	slices.SortFunc(shares, func(a, b NodeShare) int { return cmp.Compare(a.Name, b.Name) })
	return shares
}

// watchBoard reads the board once a second until ctx ends.
func (r *run) watchBoard(ctx context.Context) {
	for ctx.Err() == nil {
		board, err := r.stage.Board(ctx)
		if ctx.Err() == nil {
			r.boards.take(&board, err)
		}
		app.Sleep(ctx, lookEvery)
	}
}
