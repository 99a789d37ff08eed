package realtime

import (
	"github.com/fasthttp/websocket"

	"stampede/app/shop"
)

// SendBanner sends the operators' banner to all clients. A banner without text withdraws the previous one.
func (cs *connections) SendBanner(n shop.Notice) {
	frame := bannerFrame(n)
	for _, c := range cs.allClients() {
		c.offerHint(bannerSubject, frame)
		cs.waitForWriters()
	}
}

// bannerSubject is the subject of banners. A newer banner replaces a queued one.
const bannerSubject = "notice"

func bannerFrame(n shop.Notice) *websocket.PreparedMessage {
	level := "info"
	if n.Level == "warning" {
		level = "warn"
	}
	return newPreparedMessage(encode(noticeEvent{"notice", level, n.Text, n.Until, n.Texts}))
}

// sendBanner sends the current banner to a new client.
func (h *Hub) sendBanner(c *client) {
	if h.options.CurrentBanner == nil {
		return
	}
	if n, ok := h.options.CurrentBanner(); ok {
		c.offerHint(bannerSubject, bannerFrame(n))
	}
}
