package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app"
	"stampede/realtime"
	"stampede/streams"
)

// BoardTool reads the live board from the stores, for rehearsals. Close it.
type BoardTool struct {
	config Config
	stores stores
	clock  *app.Clock
	reader *app.BoardReader
}

// storeWithin bounds what is asked of one store for one board.
const storeWithin = 3 * time.Second

// OpenBoard makes what reads the board. It asks no store yet.
func OpenBoard(c Config) (*BoardTool, error) {
	address, err := c.runningRedis()
	if err != nil {
		return nil, err
	}
	b := &BoardTool{config: c, clock: app.NewClock()}
	b.stores.connect(address, c.Partitions)
	inventory, err := streams.New(streams.Options{
		Client: b.stores.client, Partitions: c.Partitions, Namespace: b.stores.namespace(), Frame: realtime.OrderFrame,
	})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.reader = &app.BoardReader{Store: inventory, Inventory: inventory, Now: b.clock.Now}
	return b, nil
}

// Close ends all connections.
func (b *BoardTool) Close() error { return b.stores.close() }

// ReadWhole is the board of this instant. It fails as soon as one store does not answer.
func (b *BoardTool) ReadWhole(ctx context.Context) (app.Board, error) {
	if err := b.askDatabase(ctx); err != nil {
		return app.Board{}, err
	}
	return b.fromRedis(ctx)
}

func (b *BoardTool) fromRedis(ctx context.Context) (app.Board, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	if err := b.clock.Sample(ctx, b.reader.Inventory); err != nil {
		if b.config.Embedded() { // the note of a server that crashed
			return app.Board{}, noServer(b.config.Data)
		}
		return app.Board{}, fmt.Errorf("ask Redis: %w", err)
	}
	return b.reader.Read(ctx)
}

// askDatabase makes the catalogue as new as the database, which is opened as soon as it is there.
func (b *BoardTool) askDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	if b.stores.db == nil {
		if err := b.stores.openDatabase(ctx, &b.config); err != nil {
			return fmt.Errorf("ask the database: %w", err)
		}
	}
	if b.reader.Catalogue == nil {
		if err := prepareDatabase(ctx, b.stores.db, false, b.config.Partitions); err != nil {
			return err
		}
		b.reader.Catalogue = app.NewCatalogue(b.stores.db, newIDFilter, b.config.TimeZone.Location)
	}
	if err := b.reader.Catalogue.Refresh(ctx); err != nil {
		return fmt.Errorf("ask the database: %w", err)
	}
	return nil
}
