package shop

// Notice is what all shoppers are told.
type Notice struct {
	Level string `json:"level"` // info or warning
	Text  string `json:"text"`  // for whoever reads none of the languages below; empty: they are told nothing
	// Texts are the same by the languages of their readers.
	Texts   map[string]string `json:"texts,omitempty"`
	Until   Millis            `json:"until,omitempty"` // 0: until it is taken back
	Version int64             `json:"version"`
}

// IsSaid reports whether there is something in it.
func (n *Notice) IsSaid() bool { return n.Text != "" || len(n.Texts) > 0 }

// StandsAt reports whether there is one to be told.
func (n *Notice) StandsAt(now Millis) bool { return n.IsSaid() && (n.Until == 0 || now < n.Until) }
