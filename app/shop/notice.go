package shop

// Notice is the banner that all shoppers see.
type Notice struct {
	Level string `json:"level"` // info or warning
	Text  string `json:"text"`  // for readers whose language is not in Texts; empty: these readers see no banner
	// Texts has the banner text by language.
	Texts   map[string]string `json:"texts,omitempty"`
	Until   Millis            `json:"until,omitempty"` // 0: until it is removed
	Version int64             `json:"version"`
}

// HasText reports whether the banner has a text.
func (n *Notice) HasText() bool { return n.Text != "" || len(n.Texts) > 0 }

// VisibleAt reports whether the banner is visible at now.
func (n *Notice) VisibleAt(now Millis) bool { return n.HasText() && (n.Until == 0 || now < n.Until) }
