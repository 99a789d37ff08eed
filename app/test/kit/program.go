package kit

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// MainWith is [Main] for tests that run the program. It first builds the program with the shipped flags and stores the
// path in binary.
func MainWith(m *testing.M, binary *string) {
	dir, err := sharedDir("program")
	if err == nil {
		*binary = filepath.Join(dir, "stampede")
		err = Build(*binary, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Main(m)
}

// Program is a running process of stampede.
type Program struct {
	Cmd   *exec.Cmd
	Log   string        // path of the log file
	Ended chan struct{} // closed when the process ends
}

// StartProgram starts a process that is killed when the test ends. If a setting occurs several times, the last one
// wins.
func StartProgram(t testing.TB, binary, log string, settings []string, args ...string) *Program {
	t.Helper()
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	p := &Program{Cmd: exec.Command(binary, args...), Log: log, Ended: make(chan struct{})}
	p.Cmd.Env = slices.Concat(os.Environ(), settings)
	p.Cmd.Stdout, p.Cmd.Stderr = file, file
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Cmd.Wait() // the log contains the reason of the exit
		close(p.Ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", log, p.Tail())
		}
	})
	return p
}

// AwaitReady waits until a node is ready and returns its address. If addr is "", it reads the address from the log.
func (p *Program) AwaitReady(t testing.TB, within time.Duration, addr string) string {
	t.Helper()
	Eventually(t, within, func() (bool, string) {
		if p.Exited() {
			t.Fatalf("the program exited during its start:\n%s", p.Tail())
		}
		addr = cmp.Or(addr, p.LogField("address"))
		return addr != "" && Ready(t, addr), "not ready:\n" + p.Tail()
	})
	return addr
}

// LogField returns the value of a field in the log line "open" of a node, or "" before that line is written.
func (p *Program) LogField(name string) string {
	_, line, _ := strings.Cut(p.Text(), " msg=open ")
	_, rest, _ := strings.Cut(" "+line, " "+name+"=")
	word, _, _ := strings.Cut(rest, " ")
	return word
}

// Kill ends the process with SIGKILL, like a crash. It does nothing if the process has ended.
func (p *Program) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Ended
}

// Exited reports whether the process has ended.
func (p *Program) Exited() bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

// Text returns the whole output of the process.
func (p *Program) Text() string {
	text, _ := os.ReadFile(p.Log)
	return string(text)
}

// Tail returns the last 5000 bytes of Text.
func (p *Program) Tail() string {
	text := p.Text()
	return text[max(0, len(text)-5000):]
}

// RunProgram runs one command of the program and returns its output and exit code.
func RunProgram(t testing.TB, binary string, settings []string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(Context(t), binary, args...)
	cmd.Env = slices.Concat(os.Environ(), settings)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// Metric reads a metric from the metrics address host:port of a node. It sums all series, unless name contains labels.
// It returns 0 if the metric is missing.
func Metric(t testing.TB, addr, name string) (sum float64) {
	t.Helper()
	response, err := HTTP.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("metrics of %s: %s, %v", addr, response.Status, err)
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatalf("metric %s: %v", name, err)
		}
		sum += v
	}
	return sum
}
