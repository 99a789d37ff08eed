package kit

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// StartNginxWorkers is [StartNginx] with a master and workers. Each worker gets the file and connection limits that the
// comment of the site file recommends for nginx.conf. The file limit is capped at the hard limit of this process.
func StartNginxWorkers(t testing.TB, workers int, site, upstream string, changes ...string) *Nginx {
	t.Helper()
	return startNginx(t, site, upstream, func(text string) (string, error) { return workerSettings(text, workers) },
		changes)
}

// workerSettings builds the process settings of nginx.conf that the comment of the site file recommends.
func workerSettings(site string, workers int) (string, error) {
	files := regexp.MustCompile(`(?m)^#\s+worker_rlimit_nofile (\d+);$`).FindStringSubmatch(site)
	events := regexp.MustCompile(`(?m)^#\s+(events \{ worker_connections \d+; \})$`).FindStringSubmatch(site)
	if files == nil || events == nil {
		return "", fmt.Errorf("the site has no comment with worker_rlimit_nofile and worker_connections")
	}
	fileLimit, err := strconv.ParseUint(files[1], 10, 64)
	if err != nil {
		return "", err
	}
	var hardLimit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &hardLimit); err != nil {
		return "", err
	}
	lines := fmt.Sprintf("worker_processes %d;\nworker_rlimit_nofile %d;\n%s", workers, min(fileLimit, hardLimit.Max), events[1])
	if os.Geteuid() == 0 {
		// Other users cannot read the folder of the test.
		lines = "user root;\n" + lines
	}
	return lines, nil
}

// Processes returns the process ids of the master and its workers.
func (n *Nginx) Processes(t testing.TB) []int {
	t.Helper()
	ids := []int{n.p.cmd.Process.Pid}
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", ids[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range children {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("kit: workers of nginx: %v", err)
		}
		for _, word := range strings.Fields(string(text)) {
			id, err := strconv.Atoi(word)
			if err != nil {
				t.Fatalf("kit: workers of nginx: %v", err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}
