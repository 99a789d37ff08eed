package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/test/kit"
)

const (
	floodRate = 500 // log ins a second
	floodFor  = 10 * time.Second
	// floodCost is how much of a core they may take from the sale. The clock of the process counts, so it holds on a
	// busy machine, too.
	floodCost = 0.3
)

// processorTime is what a process has used so far, of all cores.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	if errUser != nil || errSystem != nil {
		t.Fatalf("/proc/%d/stat: %s", pid, text)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// 500 log ins a second, of as many people as there are log ins, from many addresses: most are sent away before anything
// is computed, and a node spends no more than a third of a core on them.
func TestLogInFloodIsShed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	n := startShipped(t, s.settings...)
	began := time.Now()
	idle := processorTime(t, n.cmd.Process.Pid)
	kit.Eventually(t, 10*time.Second, func() (bool, string) { return time.Since(began) > 2*time.Second, "idle" })
	perSecond := (processorTime(t, n.cmd.Process.Pid) - idle).Seconds() / time.Since(began).Seconds()

	const clients = 50
	var mu sync.Mutex
	codes := map[string]int{}
	before, began := processorTime(t, n.cmd.Process.Pid), time.Now()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			transport := &http.Transport{DialContext: dialFrom(fmt.Sprintf("127.0.40.%d", i+1)).DialContext}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport, Timeout: 15 * time.Second}
			pace := time.NewTicker(time.Second * clients / floodRate)
			defer pace.Stop()
			var under sync.WaitGroup
			defer under.Wait()
			for attempt := 0; time.Since(began) < floodFor; attempt++ {
				<-pace.C
				under.Go(func() {
					code := tryLogIn(client, n.addr, fmt.Sprintf("nobody.%d.%d@shop.example", i, attempt))
					mu.Lock()
					codes[code]++
					mu.Unlock()
				})
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	used := (processorTime(t, n.cmd.Process.Pid)-before).Seconds()/took.Seconds() - perSecond
	total := 0
	for _, count := range codes {
		total += count
	}
	t.Logf("%.0f log ins a second took %.3f of a core (idle: %.3f): %v", float64(total)/took.Seconds(), used, perSecond, codes)
	if used > floodCost {
		t.Errorf("%.3f of a core, want at most %.1f", used, floodCost)
	}
	if total < floodRate*int(floodFor.Seconds())/2 || codes["unauthorized"] == 0 ||
		codes["captcha_required"]+codes["busy"]+codes["rate_limited"] < total/2 {
		t.Errorf("of %d log ins: %v", total, codes)
	}
}

// tryLogIn answers the code of a log in that fails.
func tryLogIn(client *http.Client, addr, email string) string {
	body, _ := json.Marshal(map[string]string{"email": email, "password": "not anybody's"})
	resp, err := client.Post("http://"+addr+"/api/v1/auth/login", "application/json", bytes.NewReader(body))
	if err != nil {
		return "no answer"
	}
	defer func() { _ = resp.Body.Close() }()
	var failure struct{ Error struct{ Code string } }
	text, _ := io.ReadAll(resp.Body)
	_ = json.Unmarshal(text, &failure)
	return failure.Error.Code
}
