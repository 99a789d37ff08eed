-- entry_fields returns the fields of a dead letter or quarantined entry: the original fields, then the reason and the time.
-- If the original entry is gone, only reason and time are left. script.go puts it in front of the scripts that call it.

local function entry_fields(stream, id, why)
  local fields = {}
  local entry = redis.call('XRANGE', stream, id, id)[1]
  for _, part in ipairs({entry and entry[2] or {}, why, {'at', string.format('%d', redis_time())}}) do
    for _, v in ipairs(part) do fields[#fields + 1] = v end
  end
  return fields
end

