//go:build crashpoints

package crash

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/test/kit"
)

var (
	seedFlag       = flag.Int64("seed", 0, "seed of the random runs; 0: a new seed")
	seedsFlag      = flag.Int("seeds", 3, "number of runs that kill a backlog at a random moment")
	changeCount    = flag.Int("changes", 4, "number of node changes in a run with many nodes")
	promotionCount = flag.Int("promotions", 1, "number of runs that promote a replica, per kind of replica")
	keepFlag       = flag.String("keep", "../../../.run/crash",
		"folder for the report and for the files of failed runs")
)

// binary is the path of the program with crash points, built once.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if *seedFlag == 0 {
		*seedFlag = time.Now().Unix()
	}
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "prepare the crash suite:", err)
		os.Exit(1)
	}
	report.line("seed %d; to repeat a run: just crash --seed %d --run NAME", *seedFlag, *seedFlag)
	kit.Main(m)
}

func prepare() error {
	keep, err := filepath.Abs(*keepFlag)
	if err != nil {
		return err
	}
	*keepFlag = keep
	if err := os.MkdirAll(keep, 0o755); err != nil {
		return err
	}
	if report.file, err = os.Create(filepath.Join(keep, "report.txt")); err != nil {
		return err
	}
	binary = filepath.Join(keep, "stampede")
	return kit.Build(binary, nil, "-tags", "crashpoints")
}

// report contains one line per run, in order of completion.
var report reporter

type reporter struct {
	mu   sync.Mutex
	file *os.File
}

func (r *reporter) line(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.file, format+"\n", args...)
}

// newRNG returns a random source that depends only on the seed and the name.
func newRNG(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(uint64(*seedFlag), h.Sum64()))
}

// createFolder creates the folder for the logs of a run. The folder is kept if the run fails.
func createFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(*keepFlag, strings.NewReplacer("/", "_", " ", "-").Replace(t.Name()))
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
