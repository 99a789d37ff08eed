-- redis_time: returns the clock that decides windows and deadlines (I10), in ms. script.go puts it in front of the
-- scripts that call it.

local function redis_time()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

