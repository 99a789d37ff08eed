package main

import (
	"strings"
	"testing"
)

// The verdict's promise: nothing but a test that ran and passed counts as passed.
func TestVerdict(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		events   string
		good     bool
		last     string
		contains string
	}{
		{
			name: "tests and subtests that pass",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.5}`,
			good: true, last: "2 passed, 0 failed", contains: "ok    p",
		},
		{
			name: "a failed test shows its output, a passed one does not",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"want 1, got 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}`,
			last: "1 passed, 1 failed", contains: "want 1, got 2",
		},
		{
			name: "a skipped test is named and counts as failed",
			events: `{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			last: "0 passed, 1 failed", contains: "p.TestA was skipped",
		},
		{
			name: "a package that does not build",
			events: `{"Action":"build-output","ImportPath":"p [p.test]","Output":"undefined: x\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			last: "0 passed, 1 failed", contains: "undefined: x",
		},
		{
			name: "a package that fails although its tests pass",
			events: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"goroutines left behind\n"}
{"Action":"fail","Package":"p"}`,
			last: "1 passed, 1 failed", contains: "goroutines left behind",
		},
		{
			name: "a process that dies under a test",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"signal: killed\n"}
{"Action":"fail","Package":"p"}`,
			last: "0 passed, 1 failed", contains: "p.TestA did not end",
		},
		{
			name:   "a stream that breaks off",
			events: `{"Action":"start","Package":"p"}`,
			last:   "0 passed, 1 failed", contains: "p did not end",
		},
		{
			name:   "packages without tests",
			events: `{"Action":"start","Package":"p"}` + "\n" + `{"Action":"skip","Package":"p"}`,
			last:   "0 passed, 1 failed", contains: "no test ran",
		},
		{
			name:   "words of the go command",
			events: "go: no such tool\n",
			last:   "0 passed, 1 failed", contains: "go: no such tool",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := newVerdict(&out)
			if err := readEvents(strings.NewReader(c.events), v); err != nil {
				t.Fatal(err)
			}
			if good := v.conclude(); good != c.good {
				t.Errorf("good = %v, want %v", good, c.good)
			}
			if !strings.HasSuffix(out.String(), c.last+"\n") {
				t.Errorf("the last line is not %q", c.last)
			}
			if !strings.Contains(out.String(), c.contains) {
				t.Errorf("%q is missing", c.contains)
			}
			if t.Failed() {
				t.Logf("printed:\n%s", out.String())
			}
		})
	}
}
