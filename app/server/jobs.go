package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"stampede/app/backoffice"
	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/streams"
)

const (
	minRestartPause = 100 * time.Millisecond
	maxRestartPause = 10 * time.Second
	// healthyAfter is the run time after which the next failure of a job restarts with the shortest pause.
	healthyAfter = time.Minute
)

// jobs are the goroutines of a node. After ctx ends, wg.Wait returns when the last one has ended.
type jobs struct {
	ctx context.Context
	wg  sync.WaitGroup
}

// start runs a background job until ctx ends. A job that fails or panics is restarted after a pause. Its next run, or
// another node, completes unfinished work.
func (j *jobs) start(name string, run func(ctx context.Context) error) {
	j.wg.Go(func() {
		pause := minRestartPause
		for j.ctx.Err() == nil {
			start := time.Now()
			err := runRecovered(j.ctx, run)
			if j.ctx.Err() != nil {
				if err != nil && !errors.Is(err, context.Canceled) {
					slog.Warn("background job failed during the shutdown", "job", name, "err", err)
				}
				return
			}
			if time.Since(start) > healthyAfter {
				pause = minRestartPause
			}
			slog.Error("background job ended; restarting it", "job", name, "err", err, "pause", pause)
			shop.Sleep(j.ctx, pause)
			pause = min(2*pause, maxRestartPause)
		}
	})
}

func runRecovered(ctx context.Context, run func(ctx context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return run(ctx)
}

// startJobs starts the background jobs of this node: first those of every node, then those of its roles. Any number
// of nodes may have the same role.
func (p *parts) startJobs(d *jobs, c *Config) {
	d.start("node lease", p.lease.Run)
	d.start("memory", releaseMemory)
	d.start("catalogue", p.catalogue.Run)
	d.start("phases", p.phases.Run)
	d.start("partitions", p.recovery.Run)
	d.start("stale partitions", p.checkStale)
	d.start("publish marks", p.publishMarks.Run)
	d.start("live board", p.board.feed.Run)
	d.start("counts of sales", p.board.counts.Sales.Run)
	if p.stores.embedded != nil {
		d.start("embedded Redis", p.stores.embedded.run)
	}
	if c.Roles.API {
		d.start("hub", p.hub.Run)
		d.start("block list", p.auth.blocks.Run)
		d.start("switches", p.switches.Run)
		d.start("texts of the page", p.texts.Run)
		d.start("shared limits", p.shareLimits)
		d.start("revoked tokens", p.accounts.Watch.Run)
		d.start("ticker", p.ticker.Run)
		d.start("sold-out flags", p.soldOut.Run)
		d.start("pass service", p.passService.Run)
	}
	if c.Roles.Worker {
		d.start("warm up", p.warmer.Run)
		d.start("workers", p.workers.Run)
		for partition := range c.Partitions {
			for _, consumer := range p.consumers(partition) {
				d.start(fmt.Sprintf("consumer %d", partition), consumer.Run)
			}
		}
	}
	if c.Roles.Sweeper {
		d.start("reconciler", p.reconciler.Run)
		d.start("backlogs", p.countBacklogs)
		d.start("certificates", p.certificates.run)
		d.start("publish watermark", p.watermark.Run)
		d.start("operations on sales", (&backoffice.SaleFinisherJob{Partitions: c.Partitions, Service: p.services.sales}).Run)
		d.start("eraser", (&privacy.EraserJob{Store: p.stores.db, Now: p.clock.Now}).Run)
		d.start("finisher", p.finisher.Run)
		d.start("blanker", p.blanker.Run)
		d.start("old accounts", p.removeExpiredAccounts)
		d.start("unused pictures", p.removeUnusedPictures)
		d.start("trimmer", streams.NewTrimmer(p.inventory, p.recovery.Certain).Run)
		d.start("lag fixer", streams.NewLagFixer(p.inventory).Run)
		if !c.Embedded() && !c.AllowWeakStores {
			d.start("settings of the stores", p.watchSettings)
		}
		for partition := range c.Partitions {
			d.start(fmt.Sprintf("sweeper %d", partition), streams.NewSweeper(p.inventory, partition, p.expirer).Run)
		}
	}
	p.money.start(d, c)
	p.backOffice.start(d, c)
	p.mails.start(d, c)
	if p.demoSchedule != nil {
		d.start("schedule", p.demoSchedule.Run)
	}
}
