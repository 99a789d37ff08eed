package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/backoffice"
	"stampede/app/payment"
	"stampede/streams"
)

// checklist returns the checks that a sale must pass before it opens.
func checklist(
	service *backoffice.CatalogueService, s *stores, inventory *streams.Inventory, gateway payment.Gateway, c *Config,
) *backoffice.Checklist {
	deps := &readinessDeps{stores: s, config: c}
	return &backoffice.Checklist{
		Service: service, Redis: inventory, Gateway: gateway, Backlog: c.Backlog,
		Durability: deps.durability, Mail: deps.mail,
	}
}

// readinessDeps has the stores and the configuration that the checklist examines.
type readinessDeps struct {
	stores *stores
	config *Config
}

// mail reports whether a mail server is configured, and the number of e-mails that could not be sent.
func (r *readinessDeps) mail(ctx context.Context) (server bool, dead int64, err error) {
	dead, err = streams.NewMailStream(r.stores.client).CountQuarantined(ctx)
	return r.config.SMTPURL != "", dead, err
}

// durability lists settings that are too weak for the promises, and missing copies of the data.
func (r *readinessDeps) durability(ctx context.Context) ([]backoffice.Check, error) {
	if r.config.Embedded() {
		return []backoffice.Check{{
			State: backoffice.CheckWarn, Code: backoffice.FoundEmbedded, Do: "Use Redis and MySQL for a real sale",
			Message: "embedded stores are for tests only; a crash loses reservations that are not in the database",
		}}, nil
	}
	weak, err := r.stores.weaknesses(ctx)
	if err != nil {
		return nil, err
	}
	var found []backoffice.Check
	for _, w := range weak {
		found = append(found, backoffice.CheckSetting(w.setting, w.Store, w.Refused))
	}
	copies, err := r.replicas(ctx)
	return append(found, copies...), err
}

// replicas checks the copies of the data that survive the loss of a disk: log and replicas of Redis, binary log of
// MySQL.
func (r *readinessDeps) replicas(ctx context.Context) ([]backoffice.Check, error) {
	var found []backoffice.Check
	err := r.stores.eachServer(ctx, func(ctx context.Context, name string, server *redis.Client) error {
		checks, err := replicasOf(ctx, name, server)
		found = append(found, checks...)
		if err != nil && name != singleServer { // the other servers of the cluster are still checked
			found = append(found, backoffice.Check{
				State: backoffice.CheckFail, Code: backoffice.FoundUnreadable, Of: backoffice.Facts{"what": name},
				Message: "cannot read " + name + " right now",
				Do:      "Restore it with its disk. Run stampede checkconfig to see the partitions of each primary",
			})
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the persistence of Redis: %w", err)
	}
	restorable, err := r.stores.db.Durability().Restorable(ctx)
	if err == nil && !restorable {
		found = append(found, backoffice.Check{
			State: backoffice.CheckWarn, Code: backoffice.FoundNoBinaryLog, Do: "Set log_bin, and back up the log with the data",
			Message: "MySQL has no binary log; a backup can be restored only to its own time",
		})
	}
	return found, err
}

// replicasOf checks one Redis server.
func replicasOf(ctx context.Context, name string, server *redis.Client) (found []backoffice.Check, err error) {
	text, err := server.Info(ctx, "persistence", "replication").Result()
	if err != nil {
		return nil, err
	}
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[name] = value
	}
	if status := info["aof_last_write_status"]; status != "" && status != "ok" {
		found = append(found, backoffice.Check{
			State: backoffice.CheckFail, Code: backoffice.FoundLogNotWritten,
			Message: name + ": the last write of the log failed", Do: "Check that its disk is not full",
		})
	}
	if info["aof_last_bgrewrite_status"] == "err" || info["rdb_last_bgsave_status"] == "err" {
		found = append(found, backoffice.Check{
			State: backoffice.CheckWarn, Code: backoffice.FoundLogNotRewritten,
			Message: name + ": the last rewrite of the log failed, so the log grows", Do: "Check that its disk is not full",
		})
	}
	if info["role"] != "slave" && info["connected_slaves"] == "0" {
		found = append(found, backoffice.Check{
			State: backoffice.CheckWarn, Code: backoffice.FoundNoReplica, Do: "Add a replica to Redis, and back up its disk",
			Message: name + " has no replica; if its disk fails, reservations that are not in the database are lost",
		})
	}
	return found, nil
}
