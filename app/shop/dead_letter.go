package shop

// DeadLetter is an entry that failed permanently because of its own content. Its units are returned. Its order has a
// refused row, unless the order ID belongs to another order. An operator has to resolve the letter.
type DeadLetter struct {
	ID         string            `json:"id"` // partition "-" id in the dead-letter stream, e.g. "3-1767225600000-0"
	Partition  int               `json:"partition"`
	Order      ID                `json:"order"`
	Sale       ID                `json:"sale"`
	User       ID                `json:"user"`
	Reason     string            `json:"reason"`
	Deliveries int               `json:"deliveries"`
	At         Millis            `json:"at"`
	Fields     map[string]string `json:"fields"` // the original entry
}
