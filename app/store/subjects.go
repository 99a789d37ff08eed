package store

// Each of these types has the statements of one subject. The state of an order changes only in Orders.Insert,
// Orders.changeState and Orders.end; Payments, Refunds and Shipments call the last two.

// Orders returns the rows of orders: their first state, their end without money, and their reads.
func (s *session) Orders() Orders { return Orders{s} }

// Changes returns the changes since an instant.
func (s *session) Changes() Changes { return Changes{s} }

// OldOrders returns the deletion of settled orders.
func (s *session) OldOrders() OldOrders { return OldOrders{s} }

// Payments returns received payments.
func (s *session) Payments() Payments { return Payments{s} }

// Refunds returns refunds.
func (s *session) Refunds() Refunds { return Refunds{s} }

// LostOrders returns orders and refunds that only the gateway still has.
func (s *session) LostOrders() LostOrders { return LostOrders{s} }

// Differences returns the differences between the shop and the gateway.
func (s *session) Differences() Differences { return Differences{s} }

// RestoredSales returns the sales that a restore of a backup paused.
func (s *session) RestoredSales() RestoredSales { return RestoredSales{s} }

// Shipments returns parcels and receipts.
func (s *session) Shipments() Shipments { return Shipments{s} }

// Problems returns the orders that an operator has to settle.
func (s *session) Problems() Problems { return Problems{s} }

// Outbox returns postings.
func (s *session) Outbox() Outbox { return Outbox{s} }

// Catalogue returns categories, products and slots.
func (s *session) Catalogue() Catalogue { return Catalogue{s} }

// Images returns pictures of products.
func (s *session) Images() Images { return Images{s} }

// Sales returns sales and their stock guards.
func (s *session) Sales() Sales { return Sales{s} }

// Withdrawals returns withdrawals of stock.
func (s *session) Withdrawals() Withdrawals { return Withdrawals{s} }

// Reports returns lists and sums for operators.
func (s *session) Reports() Reports { return Reports{s} }

// Accounts returns accounts.
func (s *session) Accounts() Accounts { return Accounts{s} }

// Sessions returns logins and signing keys.
func (s *session) Sessions() Sessions { return Sessions{s} }

// Addresses returns address books.
func (s *session) Addresses() Addresses { return Addresses{s} }

// Blocks returns blocks.
func (s *session) Blocks() Blocks { return Blocks{s} }

// PersonalData returns the removal of personal data.
func (s *session) PersonalData() PersonalData { return PersonalData{s} }

// Journal returns the journal of operations.
func (s *session) Journal() Journal { return Journal{s} }

// Settings returns settings.
func (s *session) Settings() Settings { return Settings{s} }

// Partitions returns partitions and their epochs.
func (s *session) Partitions() Partitions { return Partitions{s} }

// History returns the history of the database server.
func (s *session) History() History { return History{s} }

// Nodes returns leases of node numbers.
func (s *session) Nodes() Nodes { return Nodes{s} }

// Durability returns checks of the server.
func (s *session) Durability() Durability { return Durability{s} }
