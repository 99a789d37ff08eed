package server

import (
	"context"
	"log/slog"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// filesBesideSockets are the descriptors of a node for connections without a socket, stores and files.
const filesBesideSockets = 1000

// adaptToMachine makes the garbage collector respect the memory limit of the cgroup (GOMEMLIMIT: 90 % of it), and warns
// if the process may open fewer files than its sockets need.
func (s *Server) adaptToMachine(ctx context.Context) {
	if _, err := memlimit.Set(); err != nil {
		slog.WarnContext(ctx, "cannot read the memory limit of the cgroup; set GOMEMLIMIT", "err", err)
	}
	needed := uint64(s.config.MaxConns + filesBesideSockets)
	if limit := fileLimit(); s.config.Roles.API && limit > 0 && limit < needed {
		slog.WarnContext(ctx, "this process may open fewer files than its sockets need: raise LimitNOFILE of its unit"+
			" (ulimit -n), or lower STAMPEDE_MAX_CONNS", "files", limit, "needed", needed, "max_conns", s.config.MaxConns)
	}
}
