-- A sliding window with a log. The key is a list of grants, oldest first, each
-- "TIME UNITS SUM": microseconds since 1970 of the latest grant of its grain, its
-- units, and the units of all grants up to it since the log began (modulo 2^52),
-- so that the first and the last entry tell how much the log holds. No key:
-- nothing was granted.
--
-- ARGV[at …] of a take: n, the limit, the length of the window and of a grain in
--   microseconds
-- ARGV[at …] of a give-back: the same, and the time of the take and a number that is not needed
--
-- Stands as: the units in the log, the time of the newest, and, if n was
-- refused, when there will be room for it

local round = 4503599627370496 -- 2^52

local function log_entry(key, i)
  local value = redis.call('LINDEX', key, i)
  if not value then return end
  local t, units, sum = string.match(value, '^(%d+) (%d+) (%d+)$')
  return tonumber(t), tonumber(units), tonumber(sum)
end

local function log_format(t, units, sum) return string.format('%.0f %.0f %.0f', t, units, sum) end

-- Drops what the window has left behind, and returns the oldest entry.
local function log_trim(key, now, width)
  local t, units, sum = log_entry(key, 0)
  while t and t <= now - width do
    redis.call('LPOP', key)
    t, units, sum = log_entry(key, 0)
  end
  return t, units, sum
end

-- Entries from the future are from before the clock went back: they cannot be
-- later than now, and count from now. Returns the newest entry.
local function log_mend(key, now, width)
  local t, units, sum = log_entry(key, -1)
  if not t or t <= now then return t, units, sum end
  local future, newest = 0, sum
  while t and t > now do
    future = future + units
    redis.call('RPOP', key)
    t, units, sum = log_entry(key, -1)
  end
  redis.call('RPUSH', key, log_format(now, future, newest))
  redis.call('PEXPIRE', key, life(width))
  return now, future, newest
end

-- When the oldest units, so many, will be gone: the time of the first entry
-- whose sum is as far from what was there before the log. Bisected: the middle
-- of a list is found in the time of its length, but in C.
local function log_when(key, units, before)
  local low, high = 0, redis.call('LLEN', key) - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    local _, _, sum = log_entry(key, middle)
    if (sum - before) % round >= units then high = middle else low = middle + 1 end
  end
  return (log_entry(key, low))
end

kinds.s = {
  look = function(key, at, now)
    local n, limit, width = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local oldest, first, firstsum = log_trim(key, now, width)
    if not oldest then return true, 0, 0, 0 end
    local newest, _, lastsum = log_mend(key, now, width)
    if oldest > now then -- mended: there is one entry
      oldest, first, firstsum = log_entry(key, 0)
    end
    local before = (firstsum - first) % round
    local used = (lastsum - before) % round
    if n == 0 or used + n <= limit then return true, used, newest, 0 end
    local free = used + n - limit
    if first < free then oldest = log_when(key, free, before) end
    return false, used, newest, oldest + width
  end,

  take = function(key, at, now, used, newest)
    local n, width, grain = tonumber(ARGV[at]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
    local sum = 0
    if used > 0 then
      local t, units, last = log_entry(key, -1)
      sum = last
      if (t - t % grain) == (now - now % grain) then
        redis.call('LSET', key, -1, log_format(now, units + n, (sum + n) % round))
        redis.call('PEXPIRE', key, life(width))
        return used + n, now, 0
      end
    end
    redis.call('RPUSH', key, log_format(now, n, (sum + n) % round))
    redis.call('PEXPIRE', key, life(width))
    return used + n, now, 0
  end,

  -- The oldest units go, instead of those that were taken: none that counts
  -- leaves the window before its time.
  give = function(key, at, now, used, newest)
    local n, width, taken = tonumber(ARGV[at]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 4])
    if taken <= now - width then return used, newest, 0 end
    n = math.min(n, used)
    used = used - n
    while n > 0 do
      local t, units, sum = log_entry(key, 0)
      if units <= n then
        redis.call('LPOP', key)
      else
        redis.call('LSET', key, 0, log_format(t, units - n, sum))
      end
      n = n - math.min(n, units)
    end
    if used == 0 then newest = 0 end
    return used, newest, 0
  end,

  args = 4,
}
