-- hold_of: what a field of a sale's open hash says: 'hold number::units', with ':sold' behind it once the order is paid.
-- Whose it is says the row, which every caller has: 24 bytes of each open order. Holds of the version before have the
-- user between the colons.
--
-- hold_of(field) returns hold number, units and mark ('' or ':sold'), all as texts; nothing when there is no such hold.
local function hold_of(field)
  if field then return string.match(field, '^(%d+):%d*:(%d+)(.*)$') end
end
