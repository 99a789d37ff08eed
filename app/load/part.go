package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

const (
	partFormat = 1
	partBytes  = 64 << 20 // more than any run writes
)

// Part is what one process of a run found, or several of them together, with the counts behind its quantiles: a
// quantile of a whole crowd cannot be told from those of its parts, but from their counts it can. Merging is
// associative, so it does not matter in which order or groups it is done.
type Part struct {
	Format  int      `json:"format"`
	Shards  []Shard  `json:"shards"`
	Results []counts `json:"results"`
}

// counts is a result as it is kept in a file.
type counts struct {
	Result
	First   int64   `json:"first_began_ms"` // Unix milliseconds by the clock of the process
	Last    int64   `json:"last_began_ms"`
	Answers samples `json:"answer_counts"`
	Orders  samples `json:"order_counts"`
	Beside  samples `json:"beside_counts"`
}

// NewPart is what one process found.
func NewPart(shard Shard, results []Result) Part {
	p := Part{Format: partFormat, Shards: []Shard{shard.whole()}}
	for _, r := range results {
		for i, failure := range r.Failures {
			r.Failures[i] = "shard " + shard.String() + ": " + failure
		}
		began := r.began.UnixMilli()
		p.Results = append(p.Results, counts{
			Result: r, First: began, Last: began,
			Answers: r.answers.samples(), Orders: r.orders.samples(), Beside: r.beside.samples(),
		})
	}
	return p
}

// Write keeps it as JSON.
func (p *Part) Write(w io.Writer) error { return json.NewEncoder(w).Encode(p) }

// ReadPart reads what Write wrote. Whatever else it is given, it answers an error that says what is wrong with it.
func ReadPart(r io.Reader) (Part, error) {
	var p Part
	if err := json.NewDecoder(io.LimitReader(r, partBytes)).Decode(&p); err != nil {
		return p, fmt.Errorf("not the figures of a run (--out): %w", err)
	}
	if p.Format != partFormat {
		return p, fmt.Errorf("not the figures of a run of this version: format %d, want %d", p.Format, partFormat)
	}
	if len(p.Shards) == 0 || len(p.Results) == 0 {
		return p, errors.New("nothing was measured")
	}
	for i := range p.Results {
		if err := p.Results[i].restore(); err != nil {
			return p, fmt.Errorf("%s: %w", p.Results[i].Scenario, err)
		}
	}
	return p, nil
}

// restore makes the histograms of a result anew from what was kept.
func (c *counts) restore() (err error) {
	if c.Sockets < 1 || c.Ops < 0 || c.Seconds < 0 {
		return errors.New("sockets, ops or seconds that cannot be")
	}
	for from, to := range map[*samples]*histogram{
		&c.Answers: &c.answers, &c.Orders: &c.orders, &c.Beside: &c.beside,
	} {
		*to, err = from.histogram()
		if err != nil {
			return err
		}
	}
	return nil
}

// Merge is one result for each scenario that the processes of a run went through, as if one process had had all their
// shoppers. Every shard has to be there, once.
func Merge(parts ...Part) ([]Result, error) {
	if len(parts) == 0 {
		return nil, errors.New("nothing to merge")
	}
	all := parts[0]
	for _, p := range parts[1:] {
		var err error
		if all, err = all.merge(p); err != nil {
			return nil, err
		}
	}
	if err := complete(all.Shards); err != nil {
		return nil, err
	}
	results := make([]Result, len(all.Results))
	for i, c := range all.Results {
		results[i] = c.Result
		apart := time.Duration(c.Last-c.First) * time.Millisecond
		if most := max(beginWithin, time.Duration(c.Seconds/10*float64(time.Second))); apart > most {
			results[i].fail(fmt.Sprintf("the processes began %v apart, which is no figure of one crowd: --at", apart))
		}
		if len(all.Shards) > 1 {
			results[i].figure("began_apart_ms", float64(apart.Milliseconds()))
		}
	}
	return results, nil
}

// beginWithin is how far apart processes may begin: a tenth of what they measure, but at least this.
const beginWithin = 250 * time.Millisecond

// merge is both parts in one. What is written to a file is not made anew.
func (p Part) merge(other Part) (Part, error) {
	if len(p.Results) != len(other.Results) {
		return p, fmt.Errorf("%d scenarios, the others have %d", len(other.Results), len(p.Results))
	}
	merged := Part{Format: partFormat, Shards: slices.Concat(p.Shards, other.Shards)}
	for i, c := range p.Results {
		o := other.Results[i]
		if c.Scenario != o.Scenario {
			return p, fmt.Errorf("%s where the others have %s", o.Scenario, c.Scenario)
		}
		m := counts{First: min(c.First, o.First), Last: max(c.Last, o.Last)}
		var err error
		if m.Result, err = together(&c.Result, &o.Result, len(p.Shards), len(other.Shards)); err != nil {
			return p, fmt.Errorf("%s: %w", c.Scenario, err)
		}
		merged.Results = append(merged.Results, m)
	}
	return merged, nil
}

// complete says which shards are missing, or there twice.
func complete(shards []Shard) error {
	seen := make(map[int]bool)
	for _, s := range shards {
		switch {
		case s.Of != shards[0].Of:
			return fmt.Errorf("shards %s and %s are not of one run", shards[0], s)
		case s.Number < 1 || s.Number > s.Of:
			return errShard
		case seen[s.Number]:
			return fmt.Errorf("shard %s is there twice", s)
		}
		seen[s.Number] = true
	}
	for i := range shards[0].Of {
		if !seen[i+1] {
			return fmt.Errorf("shard %s is missing", Shard{i + 1, shards[0].Of})
		}
	}
	return nil
}

// together is the result of two crowds that pressed at the same time, from so many processes each.
func together(a, b *Result, ofA, ofB int) (Result, error) {
	r := Result{
		Scenario: a.Scenario, Sockets: a.Sockets + b.Sockets, Rate: a.Rate + b.Rate,
		Seconds: max(a.Seconds, b.Seconds), Ops: a.Ops + b.Ops,
		Reserved: a.Reserved + b.Reserved, Orders: a.Orders + b.Orders,
		Refusals: sum(a.Refusals, b.Refusals), Losses: sum(a.Losses, b.Losses),
		Failures: slices.Concat(a.Failures, b.Failures),
	}
	for _, from := range []*Result{a, b} {
		r.answers.merge(&from.answers)
		r.orders.merge(&from.orders)
		r.beside.merge(&from.beside)
	}
	r.tell()
	return r, r.mergeFigures(a, b, ofA, ofB)
}

func sum(a, b map[string]int) map[string]int {
	all := maps.Clone(a)
	for name, n := range b {
		if all == nil {
			all = make(map[string]int)
		}
		all[name] += n
	}
	return all
}
