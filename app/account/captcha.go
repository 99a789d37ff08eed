package account

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"image/png"
	"math/big"
	"strings"
	"time"

	"github.com/mojocn/base64Captcha"

	"stampede/app/admission"
	"stampede/app/limits"
	"stampede/app/shop"
)

const (
	captchaLife   = 5 * time.Minute
	captchaDigits = 6
	// captchaShare is the share of a core for drawing. captchaMaxBudget is the largest budget that can accumulate.
	// Together they allow a burst of about 300 pictures, then 15 per second, even on a busy machine.
	captchaShare     = 0.05
	captchaMaxBudget = time.Second
	captchaRetry     = 2 * time.Second
	// captchaLimitBelow is the budget above which every request is served. Below it, addresses are limited and callers
	// with an unsolved picture are rejected, so that these callers do not delay others.
	captchaLimitBelow = captchaMaxBudget / 2
)

// captchaPace is the limit per address while the budget is below captchaLimitBelow.
var captchaPace = limits.Pace{Rate: 1, Period: time.Second, Burst: 20}

// Captchas draws pictures of digits and checks their solutions. A picture accepts one attempt, correct or wrong.
// Captchas implements admission.Captcha for logins and sales.
type Captchas struct {
	Counters *Counters
	Now      func() shop.Millis

	drawBudget *budget
	perAddress *limits.Addrs
	driver     *base64Captcha.DriverDigit
}

// NewCaptchas returns captchas that store hashed solutions in the counters.
func NewCaptchas(counters *Counters, now func() shop.Millis) *Captchas {
	return &Captchas{
		Counters: counters, Now: now, drawBudget: newBudget(captchaShare, captchaMaxBudget, time.Now),
		perAddress: limits.NewAddrs(captchaPace),
		driver:     base64Captcha.NewDriverDigit(80, 240, captchaDigits, 0.7, 80),
	}
}

// New returns a new picture. Busy: the budget of this node is used up. See admission.Captcha.
func (c *Captchas) New(
	ctx context.Context, client admission.PictureClient,
) (id, image string, until shop.Millis, err error) {
	if !c.admit(client) {
		return "", "", 0, shop.FailBusy("too many captchas are requested right now; try again", captchaRetry)
	}
	answer, err := digits(captchaDigits)
	if err != nil {
		return "", "", 0, err
	}
	c.drawBudget.pay(processorTime(func() { image, err = c.draw(answer) }))
	if err != nil {
		return "", "", 0, fmt.Errorf("draw a captcha: %w", err)
	}
	id = rand.Text()
	c.Counters.putCaptcha(ctx, id, captchaHash(id, answer), captchaLife)
	return id, image, c.Now().Add(captchaLife), nil
}

// admit reports whether the caller gets a picture now. Every request counts for the address, but the limit applies only
// below captchaLimitBelow.
func (c *Captchas) admit(client admission.PictureClient) bool {
	left := c.drawBudget.left()
	if left < 0 {
		return false
	}
	allowed := !client.From.IsValid() || c.perAddress.Take(client.From) == 0
	return left >= captchaLimitBelow || allowed && client.Unsolved == 0
}

// Check reports whether the solution is correct and invalidates the picture. See admission.Captcha.
func (c *Captchas) Check(ctx context.Context, id, answer string) (bool, error) {
	if len(id) != idLength || len(answer) > 64 {
		return false, nil
	}
	stored := c.Counters.takeCaptcha(ctx, id)
	return stored != "" && stored == captchaHash(id, strings.TrimSpace(answer)), nil
}

// idLength is the length of rand.Text.
const idLength = 26

func captchaHash(id, answer string) string { return hashOf(id + ":" + answer) }

// digits returns n digits of a secure random source. The library draws their positions from a weak one.
func digits(n int) (string, error) {
	var b strings.Builder
	for range n {
		d, err := rand.Int(rand.Reader, big.NewInt(10))
		if err != nil {
			return "", fmt.Errorf("draw a captcha: %w", err)
		}
		b.WriteByte('0' + byte(d.Int64()))
	}
	return b.String(), nil
}

// draw returns a PNG as a data URL.
func (c *Captchas) draw(answer string) (string, error) {
	item, err := c.driver.DrawCaptcha(answer)
	if err != nil {
		return "", err
	}
	picture := bend(item.(*base64Captcha.ItemDigit).Paletted)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, picture); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
