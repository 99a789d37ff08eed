package main

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"

	"github.com/prometheus/procfs"
)

// Machine describes the hardware, the software and the durability of a run.
type Machine struct {
	Revision string `json:"revision"` // of the project; ends with + if the working tree had changes
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	MemoryGB int    `json:"memory_gb"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	Redis    string `json:"redis"`
	Database string `json:"database"`
	Durable  string `json:"durable"` // durability settings, read from the stores
}

func describe(ctx context.Context, s *stores) (Machine, error) {
	m := Machine{
		CPU: "unknown", Cores: runtime.NumCPU(), Go: runtime.Version(),
		Kernel: command(ctx, "uname", "-sr"), Revision: command(ctx, "git", "rev-parse", "--short=12", "HEAD"),
	}
	if command(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", "app", "streams", "realtime",
		"migrations", "go.mod") != "" {
		m.Revision += "+"
	}
	if proc, err := procfs.NewDefaultFS(); err == nil {
		if processors, err := proc.CPUInfo(); err == nil && len(processors) > 0 {
			m.CPU = processors[0].ModelName
		}
		if memory, err := proc.Meminfo(); err == nil && memory.MemTotalBytes != nil {
			m.MemoryGB = int(*memory.MemTotalBytes >> 30)
		}
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

// command returns the trimmed output of a program; "" if the program fails.
func command(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(out))
}
