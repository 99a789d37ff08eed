package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// found is a result as a scenario leaves it, of the latencies given in µs.
func found(scenario string, began time.Time, answers, orders, beside []int64) Result {
	p := pressed{Ops: int64(len(answers)), Seconds: 2}
	r := Result{Scenario: scenario, Sockets: 10, Rate: 5, began: began}
	for into, all := range map[*histogram][]int64{&p.Answers: answers, &p.Orders: orders, &r.beside: beside} {
		for _, us := range all {
			into.record(time.Duration(us) * time.Microsecond)
		}
	}
	r.took(&p)
	r.Reserved, r.Orders = len(answers), len(orders)
	r.derive()
	return r
}

// kept goes through a file.
func kept(t interface{ Fatal(...any) }, p Part) Part {
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	again, err := ReadPart(&file)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestPartsTogetherAreTheWhole deals the latencies of one process out to three: their merged report is its own.
func TestPartsTogetherAreTheWhole(t *testing.T) {
	t.Parallel()
	began := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Int64Range(0, longest), 1, 90)
		of := [3][]int64{samples.Draw(t, "answers"), samples.Draw(t, "orders"), samples.Draw(t, "beside")}
		parts := make([]Part, 3)
		for i := range parts {
			var some [3][]int64
			for k, all := range of {
				for j := i; j < len(all); j += len(parts) {
					some[k] = append(some[k], all[j])
				}
			}
			r := found("burst", began, some[0], some[1], some[2])
			parts[i] = kept(t, NewPart(Shard{i + 1, len(parts)}, []Result{r}))
		}
		whole := found("burst", began, of[0], of[1], of[2])
		whole.Sockets, whole.Rate = 30, 15
		whole.figure("began_apart_ms", 0)
		got, err := Merge(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texted(t, whole), texted(t, got[0])); diff != "" {
			t.Fatal(diff)
		}
	})
}

// texted is what scripts read of a result.
func texted(t interface{ Fatal(...any) }, r Result) string {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMergingIsAssociative merges three parts in both groupings, and then backwards.
func TestMergingIsAssociative(t *testing.T) {
	t.Parallel()
	began := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		parts := make([]Part, 3)
		for i := range parts {
			r := found("chain", began, rapid.SliceOfN(rapid.Int64Range(0, 1e7), 1, 50).Draw(t, "answers"), nil, nil)
			for _, name := range []string{
				"unsent", "all_back_s", "resident_before_mb", "resident_after_mb", "server_cpu_us_per_op", "redis_cpu_us_per_op",
				"generator_cpu_us_per_op", "stalled",
			} {
				if rapid.Bool().Draw(t, name+" is known") {
					r.figure(name, rapid.Float64Range(0, 5).Draw(t, name))
				}
			}
			r.Refusals = map[string]int{string(rune('a' + i%2)): i + 1}
			parts[i] = NewPart(Shard{i + 1, 3}, []Result{r})
		}
		group := func(a, b Part) Part {
			p, err := a.merge(b)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		left := group(group(parts[0], parts[1]), parts[2]).Results[0]
		for _, other := range []counts{
			group(parts[0], group(parts[1], parts[2])).Results[0],
			group(parts[2], group(parts[1], parts[0])).Results[0],
		} {
			same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }
			if diff := cmp.Diff(left.Figures, other.Figures, cmp.Comparer(same)); diff != "" {
				t.Fatal(diff)
			}
			left := left
			left.Figures, other.Figures = nil, nil
			if diff := cmp.Diff(texted(t, left.Result), texted(t, other.Result)); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(left.answers.samples(), other.answers.samples()); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestProcessorTimeOfACrowd: each of two processes saw what the server spent for both, and only what itself spent.
func TestProcessorTimeOfACrowd(t *testing.T) {
	t.Parallel()
	began := time.Now()
	a := found("buy", began, slices.Repeat([]int64{5}, 300), nil, nil)
	b := found("buy", began, slices.Repeat([]int64{5}, 100), nil, nil)
	a.figure("server_cpu_us_per_op", 40) // 12,000 µs of both
	b.figure("server_cpu_us_per_op", 120)
	a.figure("generator_cpu_us_per_op", 10) // 3,000 and 2,000 µs
	b.figure("generator_cpu_us_per_op", 20)
	got, err := Merge(NewPart(Shard{1, 2}, []Result{a}), NewPart(Shard{2, 2}, []Result{b}))
	if err != nil {
		t.Fatal(err)
	}
	if f := got[0].Figures; f["server_cpu_us_per_op"] != 30 || f["generator_cpu_us_per_op"] != 12.5 {
		t.Errorf("%v", f)
	}
}

func TestPartsThatDoNotFit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	part := func(shard Shard, scenario string, began time.Time) Part {
		return NewPart(shard, []Result{found(scenario, began, []int64{1}, nil, nil)})
	}
	one, two := part(Shard{1, 2}, "buy", now), part(Shard{2, 2}, "buy", now)
	strange := found("buy", now, []int64{1}, nil, nil)
	strange.figure("made_up", 1)
	longer := NewPart(Shard{2, 2}, []Result{found("buy", now, nil, nil, nil), found("chain", now, nil, nil, nil)})
	for _, c := range []struct {
		says  string
		parts []Part
	}{
		{"nothing to merge", nil},
		{"shard 2/2 is missing", []Part{one}},
		{"shard 1/2 is there twice", []Part{one, one}},
		{"shards 1/2 and 2/3 are not of one run", []Part{one, part(Shard{2, 3}, "buy", now)}},
		{"chain where the others have buy", []Part{one, part(Shard{2, 2}, "chain", now)}},
		{"2 scenarios, the others have 1", []Part{one, longer}},
		{"made_up cannot be merged", []Part{one, NewPart(Shard{2, 2}, []Result{strange})}},
	} {
		if _, err := Merge(c.parts...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q, got %v", c.says, err)
		}
	}
	if got, err := Merge(one, two); err != nil || len(got[0].Failures) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	got, err := Merge(one, part(Shard{2, 2}, "buy", now.Add(time.Second)))
	if err != nil || len(got[0].Failures) != 1 || !strings.Contains(got[0].Failures[0], "1s apart") {
		t.Errorf("processes that began a second apart: %v, %v", got, err)
	}
}

func TestShards(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "0/2", "3/2", "1/0", "-1/2", "1/65", "a/b", "1/2/3"} {
		var s Shard
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is none", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(1, maxShards).Draw(t, "of")
		seen := make(map[int64]string)
		for i := range of {
			var s Shard
			if err := s.UnmarshalText([]byte(fmt.Sprintf("%d/%d", i+1, of))); err != nil {
				t.Fatal(err)
			}
			first := rapid.Int64Range(1_790_000_000_000_000_000, 1_790_000_000_000_000_300).Draw(t, "first")
			for index := range 20 {
				id := s.user(first, index)
				if other, taken := seen[id]; taken {
					t.Fatalf("user %d is of %s and of %s", id, other, s)
				}
				seen[id] = s.String()
			}
		}
	})
}

// FuzzReadPart: whatever stands in a file, reading and merging it answers an error and never panics.
func FuzzReadPart(f *testing.F) {
	var file bytes.Buffer
	whole := NewPart(Shard{}, []Result{found("burst", time.Unix(1, 0), []int64{1, 7_000_000}, []int64{3}, []int64{5})})
	if err := whole.Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(`{"format":1,"shards":["1/1"],"results":[{"sockets":1,"answer_counts":{"most_us":9,"counts":[[-1,1]]}}]}`))
	f.Add([]byte(`{"format":1,"shards":["1/1"],"results":[{"sockets":1,"answer_counts":{"most_us":9,"counts":[[9,-1]]}}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if p, err := ReadPart(bytes.NewReader(text)); err == nil {
			_, _ = Merge(p, p)
			_, _ = Merge(p)
		}
	})
}
