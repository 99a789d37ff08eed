package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// SaySaleFigures keeps what a process has counted of sales. See app.SaleFiguresStore.
func (l *Inventory) SaySaleFigures(ctx context.Context, all []app.SaleFigures) error {
	_, err := l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range all {
			text, err := json.Marshal(&all[i])
			if err != nil {
				return fmt.Errorf("write what was counted of sale %s: %w", all[i].Sale, err)
			}
			key := boardSale + all[i].Sale.String()
			p.HSet(ctx, key, all[i].By, text)
			p.PExpire(ctx, key, app.SaleFiguresLife)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("say what was counted of %d sales: %w", len(all), transient(err))
	}
	return nil
}

// SaleFigures answers what was counted of a sale. See app.SaleFiguresStore.
func (l *Inventory) SaleFigures(ctx context.Context, sale app.ID) ([]app.SaleFigures, error) {
	said, err := l.client.HGetAll(ctx, boardSale+sale.String()).Result()
	if err != nil {
		return nil, fmt.Errorf("read what was counted of sale %s: %w", sale, transient(err))
	}
	return parsed[app.SaleFigures](ctx, maps.Values(said)), nil
}
