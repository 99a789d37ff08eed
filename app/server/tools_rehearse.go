package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"stampede/app"
	"stampede/streams"
)

// epochsEvery is how often a rehearsal reads under which epochs the partitions are: one may be made anew meanwhile.
const epochsEvery = time.Second

// Rehearsal is what a rehearsal needs of the deployment.
type Rehearsal struct {
	Desk  *app.RehearsalDesk
	Actor app.Actor
	Mint  func() (app.ID, error)
	Board func(ctx context.Context) (app.Board, error)
}

// Rehearse lets somebody rehearse, as the actor of these tools, with ids under a node number of its own.
func (t *Tools) Rehearse(ctx context.Context, use func(r Rehearsal) error) (err error) {
	desk, stopFollowing, err := t.rehearsalDesk(ctx)
	if err != nil {
		return err
	}
	defer stopFollowing()
	board, err := OpenBoard(t.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, board.Close()) }()
	lease, err := t.stores.db.LeaseNode(ctx)
	if err != nil {
		return fmt.Errorf("lease a node number: %w", err)
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	renewed := make(chan error, 1)
	go func() { renewed <- lease.Run(renewing) }()
	defer func() {
		stop()
		<-renewed // it ends with its context
		err = errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}()
	return use(Rehearsal{Desk: desk, Actor: t.actor, Mint: lease.Mint, Board: board.ReadWhole})
}

// Asks is what a sale asks of its buyers before a buy. NotFound: there is no such sale.
func (t *Tools) Asks(ctx context.Context, id app.ID) (app.Challenge, error) {
	sale, err := t.stores.db.Sale(ctx, id)
	if errors.Is(err, app.ErrNoRow) {
		return "", app.Fail(app.NotFound, "there is no sale "+id.String())
	}
	return sale.Challenge, err
}

// CleanRehearsal ends the rehearsal that is under way, whoever runs it, and removes what it has left. NotFound: there
// is none.
func (t *Tools) CleanRehearsal(ctx context.Context) (app.Rehearsal, error) {
	desk, stopFollowing, err := t.rehearsalDesk(ctx)
	if err != nil {
		return app.Rehearsal{}, err
	}
	defer stopFollowing()
	r, err := desk.EndAny(ctx, t.actor)
	if err == nil {
		err = desk.Clean(ctx, &r)
	}
	return r, err
}

// rehearsalDesk is a desk that follows the epochs until it is stopped.
func (t *Tools) rehearsalDesk(ctx context.Context) (desk *app.RehearsalDesk, stop func(), err error) {
	inventory, err := t.inventory(ctx)
	if err != nil {
		return nil, nil, err
	}
	db := t.stores.db
	return &app.RehearsalDesk{
		Journal: t.journal(), Store: db, Sales: db, Orders: db, Inventory: inventory, Redis: inventory, Keys: inventory,
		Dead:    inventory,
		Effects: &app.Effects{Inventory: inventory, Notifier: inventory, Orders: db, Told: t.told},
	}, t.followEpochs(ctx, inventory), nil
}

// followEpochs keeps the epochs of the inventory those of the database, also when ctx has ended, until it is stopped.
func (t *Tools) followEpochs(ctx context.Context, inventory *streams.Inventory) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() {
		for app.Sleep(ctx, epochsEvery) {
			_ = t.learnEpochs(ctx, inventory) // who needs them says what is wrong
		}
	})
	return func() {
		cancel()
		following.Wait()
	}
}

// RehearsalTarget is where people find the shop: the public address, or this machine's.
func (c *Config) RehearsalTarget() string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "http://" + c.Listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
