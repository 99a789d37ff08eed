package shop

// DeadLetter is an entry that failed for good on its own account. Its order has a refused row, unless its id belongs to
// another order, and its units are back; the letter waits for an operator.
type DeadLetter struct {
	ID         string            `json:"id"` // partition "-" id in the dead-letter stream, e.g. "3-1767225600000-0"
	Partition  int               `json:"partition"`
	Order      ID                `json:"order"`
	Sale       ID                `json:"sale"`
	User       ID                `json:"user"`
	Reason     string            `json:"reason"`
	Deliveries int               `json:"deliveries"`
	At         Millis            `json:"at"`
	Fields     map[string]string `json:"fields"` // the entry as it was
}
