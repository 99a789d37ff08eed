package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stampede/app/test/kit"
)

// TestAlipaySimWritesCompleteSettings: the simulator writes all settings that a server needs. A server without
// STAMPEDE_ALIPAY_SIMULATOR=true does not accept the simulator as Alipay.
func TestAlipaySimWritesCompleteSettings(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "with a blank")
	ctx, stop := context.WithCancel(kit.Context(t))
	defer stop()
	var out output
	ended := make(chan int, 1)
	go func() {
		ended <- run(&env{
			ctx: ctx, args: []string{"alipay-sim", "--listen", "127.0.0.1:0", "--data", dir}, in: strings.NewReader(""),
			out: &out, err: &out,
		})
	}()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	kit.Eventually(t, time.Minute,
		func() (bool, string) { return strings.Contains(out.String(), "stampede serve"), out.String() })

	content, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"STAMPEDE_DATA=" + t.TempDir()}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(content), "'", ""), "\n") { // as a shell reads the file
		environ = append(environ, line)
	}
	if code, text, errOut := runCommand(t, environ, "checkconfig", "--offline"); code != exitOK {
		t.Errorf("checkconfig: got code %d\n%s%s", code, text, errOut)
	}
	withoutSimulator := append(environ, "STAMPEDE_ALIPAY_SIMULATOR=false")
	if code, _, errOut := runCommand(t, withoutSimulator, "serve"); code != exitUsage ||
		!strings.Contains(errOut, "STAMPEDE_ALIPAY_SIMULATOR=true") {
		t.Errorf("serve: got code %d, want %d\n%s", code, exitUsage, errOut)
	}

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(address.FindString(out.String()) + "/admin/ledger")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the ledger: got %v, %v, want status 200", response, err)
	}
	_ = response.Body.Close()
	if code, _, errOut := runCommand(t, nil, "alipay-sim", "--listen", response.Request.URL.Host, "--data", dir); code != exitFailed {
		t.Errorf("an address in use: got code %d, want %d\n%s", code, exitFailed, errOut)
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("alipay-sim: got exit code %d, want 0:\n%s", code, out.String())
	}
}
