package streams

// Each of these types has the operations of one subject. Stock is deducted by the gate, and changes otherwise only in
// Stock.

// Stock returns the stock, the holds and the terms of sales.
func (i *Inventory) Stock() Stock { return Stock{i.connection} }

// Queue returns the streams of reservations with their dead letters, and the delay queue of deadlines.
func (i *Inventory) Queue() Queue { return Queue{i.connection} }

// Sequences returns the published changes of orders.
func (i *Inventory) Sequences() Sequences { return Sequences{i.connection} }

// Figures returns the live figures of nodes and sales.
func (i *Inventory) Figures() Figures { return Figures{i.connection} }

// Recovery returns the state of the partitions and the steps of a recovery.
func (i *Inventory) Recovery() Recovery { return Recovery{i.connection} }

// Stock is the stock of sales in Redis.
type Stock struct{ *connection }

// Queue has the reservations in the streams, and the delay queue.
type Queue struct{ *connection }

// Sequences has the published changes of orders, by partition.
type Sequences struct{ *connection }

// Figures has the live figures of nodes and sales.
type Figures struct{ *connection }

// Recovery has the state of the partitions, and the steps of a recovery.
type Recovery struct{ *connection }
