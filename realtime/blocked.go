package realtime

// CloseBlocked ends the connections of those who are blocked by now. It is called after the answers of Options.Blocked
// have changed. Whoever comes in meanwhile is looked at by closeIfBlocked, after it has entered: one of the two finds
// it.
func (h *Hub) CloseBlocked() {
	for _, c := range h.everybody() {
		if h.closeIfBlocked(c) {
			h.letWritersBegin()
		}
	}
}

// closeIfBlocked ends the connection of a user or an address that is blocked, and reports whether it did. What it still
// says is thrown away (readAll).
func (h *Hub) closeIfBlocked(c *client) bool {
	if h.options.Blocked == nil {
		return false
	}
	user, _ := c.user()
	if !h.options.Blocked(user, c.addr) {
		return false
	}
	c.depart(CloseBlocked)
	return true
}
