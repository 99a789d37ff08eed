-- letter: the fields of an entry that an operator is to look at: the entry as it was, then why it is here and since when. Of one
-- that is gone only the why is left. Put in front of the scripts that write such entries (script.go).

local function letter(stream, id, why)
  local fields = {}
  local entry = redis.call('XRANGE', stream, id, id)[1]
  for _, part in ipairs({entry and entry[2] or {}, why, {'at', string.format('%d', redis_time())}}) do
    for _, v in ipairs(part) do fields[#fields + 1] = v end
  end
  return fields
end

