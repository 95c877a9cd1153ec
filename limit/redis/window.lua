-- A fixed window. The key holds when it began, in microseconds since 1970, and
-- what was granted in it. No key: nothing was.
--
-- ARGV[at …] of a take: n, the limit, the length of the window in microseconds
-- ARGV[at …] of a give-back: the same, and the time and the window of the take
--
-- Stands as: the begin, what was granted, 0

local function window_write(key, now, begin, used, width)
  redis.call('SET', key, string.format('%.0f %.0f', begin, used), 'PX', life(begin + width - now))
end

local function window_look(key, at, now, begin, latest)
  local n, limit, width = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local used = 0
  local value = redis.call('GET', key)
  if value then
    local b, u = string.match(value, '^(%d+) (%d+)$')
    b, u = tonumber(b), tonumber(u)
    if u > 0 and now < b + width then
      begin, used = b, u
      if begin > latest then -- the clock went back; written down, or the window would never end
        begin = latest
        window_write(key, now, begin, used, width)
      end
    end
  end
  return n == 0 or used + n <= limit, begin, used, 0
end

local function window_take(key, at, now, begin, used)
  used = used + tonumber(ARGV[at])
  window_write(key, now, begin, used, tonumber(ARGV[at + 2]))
  return begin, used, 0
end

local function window_give(key, at, now, begin, used)
  if used > 0 and begin == tonumber(ARGV[at + 4]) then
    used = math.max(0, used - tonumber(ARGV[at]))
    window_write(key, now, begin, used, tonumber(ARGV[at + 2]))
  end
  return begin, used, 0
end

-- From the first take on.
kinds.f = {
  look = function(key, at, now) return window_look(key, at, now, now, now) end,
  take = window_take, give = window_give, args = 3,
}

-- By the calendar. When the clock goes back over the end of a window, what was
-- granted in the window that is now to come goes on counting.
kinds.a = {
  look = function(key, at, now)
    local width = tonumber(ARGV[at + 2])
    local begin = now - now % width
    return window_look(key, at, now, begin, begin + width)
  end,
  take = window_take, give = window_give, args = 3,
}
