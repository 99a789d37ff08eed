-- hold_of: parses a field of a sale's open hash: 'hold number:units', with ':sold' at the end once the order is paid.
-- It does not name the buyer, which every caller has from the row.
--
-- hold_of(field) returns hold number, units and mark ('' or ':sold'), all as texts; nothing when there is no such hold.
local function hold_of(field)
  if field then return string.match(field, '^(%d+):(%d+)(.*)$') end
end
