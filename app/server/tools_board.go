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

// BoardTool reads the live board once or again and again, for a terminal. It needs the stores and no server: nodes that
// are not there are not on it. Of a store that is away it says so, and shows what the other one knows. Close it.
type BoardTool struct {
	config Config
	stores stores
	clock  *app.Clock
	reader *app.BoardReader

	redisAway, databaseAway app.Millis // since when; 0: it answers
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

// Read is the board of this instant. It fails when no store answers.
func (b *BoardTool) Read(ctx context.Context) (app.Board, error) {
	noDatabase := b.askDatabase(ctx)
	b.note(&b.databaseAway, noDatabase)
	board, noRedis := b.fromRedis(ctx)
	b.note(&b.redisAway, noRedis)
	switch {
	case noRedis != nil && noDatabase != nil:
		return app.Board{}, fmt.Errorf("no store answers: %w", errors.Join(noRedis, noDatabase))
	case noRedis != nil:
		ctx, cancel := context.WithTimeout(ctx, storeWithin)
		defer cancel()
		return b.reader.ReadBooks(ctx, b.stores.db, b.redisAway)
	case noDatabase != nil:
		board.WithoutDatabase(b.databaseAway)
	}
	return board, nil
}

// ReadWhole is Read for whom a part is of no use: it fails as soon as one store does not answer.
func (b *BoardTool) ReadWhole(ctx context.Context) (app.Board, error) {
	board, err := b.Read(ctx)
	switch {
	case err != nil:
		return app.Board{}, err
	case b.redisAway != 0:
		return app.Board{}, fmt.Errorf("read the board: Redis does not answer: %w", app.ErrTransient)
	case b.databaseAway != 0:
		return app.Board{}, fmt.Errorf("read the board: the database does not answer: %w", app.ErrTransient)
	}
	return board, nil
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

// note keeps since when a store does not answer.
func (b *BoardTool) note(away *app.Millis, err error) {
	switch {
	case err == nil:
		*away = 0
	case *away == 0:
		*away = b.clock.Now()
	}
}
