-- hold_of: parses a field of a sale's open hash: 'hold number:units', followed by ':sold' once the order is paid.
-- The field does not contain the buyer. Every caller has the buyer from the row.
--
-- hold_of(field) returns hold number, units and mark ('' or ':sold') as strings; nothing if there is no hold.
local function hold_of(field)
  if field then return string.match(field, '^(%d+):(%d+)(.*)$') end
end
