package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// settingGateway is the JSON of the payment.GatewayIdentity of the shop.
const settingGateway = "gateway"

// Gateway reads the payment gateway of the shop. Its name is "" if the shop never had one.
func (s Settings) Gateway(ctx context.Context) (g payment.GatewayIdentity, err error) {
	g, err = s.gateway(ctx, s.db)
	return g, wrap("read the payment gateway of the shop", err)
}

func (s Settings) gateway(ctx context.Context, db bun.IDB) (g payment.GatewayIdentity, err error) {
	var text string
	err = db.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = ?", settingGateway).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal([]byte(text), &g)
}

// EnsureGateway stores the first gateway of the shop, and returns the stored one.
func (s Settings) EnsureGateway(
	ctx context.Context, own payment.GatewayIdentity,
) (stored payment.GatewayIdentity, err error) {
	text, err := json.Marshal(own)
	if err != nil {
		return own, err
	}
	return inTx(ctx, s.session, "store the payment gateway of the shop",
		func(tx bun.Conn) (payment.GatewayIdentity, error) {
			_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, ?) "+s.d.onDuplicate+
				" value = settings.value", settingGateway, string(text))
			if err != nil {
				return own, err
			}
			return s.gateway(ctx, tx)
		})
}

// ChangeGateway replaces the gateway of the shop, and returns the previous one. WrongState: a trade or a refund of the
// previous gateway is open; only that gateway can close or refund it.
func (s Settings) ChangeGateway(
	ctx context.Context, own payment.GatewayIdentity,
) (previous payment.GatewayIdentity, err error) {
	text, err := json.Marshal(own)
	if err != nil {
		return own, err
	}
	return inTx(ctx, s.session, "change the payment gateway of the shop",
		func(tx bun.Conn) (payment.GatewayIdentity, error) {
			previous, err := s.gateway(ctx, tx)
			if err != nil {
				return previous, err
			}
			var trades, refunds int64
			err = tx.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM trades WHERE check_at IS NOT NULL),"+
				" (SELECT COUNT(*) FROM refunds WHERE state IN (?))",
				bun.List([]payment.RefundState{payment.RefundRequested, payment.RefundOpen, payment.RefundStuck})).
				Scan(&trades, &refunds)
			if err != nil {
				return previous, err
			}
			if !own.Same(previous) && trades+refunds > 0 {
				return previous, shop.Fail(shop.WrongState, fmt.Sprintf(
					"%d trades and %d refunds of the present gateway (%s) are open: wait until they have ended", trades, refunds,
					previous))
			}
			return previous, s.putSetting(ctx, tx, settingGateway, string(text))
		})
}
