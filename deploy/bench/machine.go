package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine is where and with what was measured.
type Machine struct {
	Revision string `json:"revision"` // of the project; with + when the working tree had changes
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	MemoryGB int    `json:"memory_gb"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	Redis    string `json:"redis"`
	Database string `json:"database"`
	Durable  string `json:"durable"` // what the stores answered for their settings
}

func describe(ctx context.Context, s *stores) (Machine, error) {
	m := Machine{
		CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Go: runtime.Version(),
		Kernel: command(ctx, "uname", "-sr"), Revision: command(ctx, "git", "rev-parse", "--short=12", "HEAD"),
	}
	if command(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", "app", "streams", "realtime",
		"migrations", "go.mod") != "" {
		m.Revision += "+"
	}
	kb := 0
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%d", &kb); err == nil {
		m.MemoryGB = kb >> 20
	}
	client, err := s.client(0)
	if err != nil {
		return m, err
	}
	defer client.Close()
	info, err := client.InfoMap(ctx, "server").Result()
	if err != nil {
		return m, err
	}
	m.Redis = info["Server"]["redis_version"]
	fsync, err := client.ConfigGet(ctx, "append*").Result()
	if err != nil {
		return m, err
	}
	var flush string
	err = s.server.QueryRowContext(ctx, "SELECT VERSION(), @@innodb_flush_log_at_trx_commit").Scan(&m.Database, &flush)
	m.Durable = "Redis appendonly " + fsync["appendonly"] + ", appendfsync " + fsync["appendfsync"] +
		"; innodb_flush_log_at_trx_commit " + flush
	return m, err
}

// procField is the value of the first line that begins with the name.
func procField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// command is what a program prints, in one line; "" when it cannot be run.
func command(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(out))
}
