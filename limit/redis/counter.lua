-- A sliding window of two counters. The key holds when this window of the
-- calendar began, in microseconds since 1970, what was granted in it, and in the
-- one before. No key: nothing was.
--
-- ARGV[at …] of a take: n, the limit, the length of the window in microseconds
-- ARGV[at …] of a give-back: the same, and the time and the window of the take
--
-- Stands as: the begin, what was granted, what was granted before

-- x · y / d rounded up, for y <= d < 2^52: exact, where x · y is not.
local function share(x, y, d)
  local product = x * y
  if product < 9007199254740992 then
    local rest = product % d
    return (product - rest) / d + (rest > 0 and 1 or 0)
  end
  local bits, quotient, rest = {}, 0, 0
  while x > 0 do
    bits[#bits + 1] = x % 2
    x = (x - x % 2) / 2
  end
  for i = #bits, 1, -1 do
    quotient, rest = 2 * quotient, 2 * rest
    if rest >= d then quotient, rest = quotient + 1, rest - d end
    if bits[i] == 1 then
      rest = rest + y
      if rest >= d then quotient, rest = quotient + 1, rest - d end
    end
  end
  return quotient + (rest > 0 and 1 or 0)
end

local function counter_write(key, now, begin, this, last, width)
  redis.call('SET', key, string.format('%.0f %.0f %.0f', begin, this, last), 'PX', life(begin + 2 * width - now))
end

-- Returns the key's standing in the window of now.
local function counter_read(key, now, width)
  local begin = now - now % width
  local value = redis.call('GET', key)
  if not value then return begin, 0, 0 end
  local b, this, last = string.match(value, '^(%d+) (%d+) (%d+)$')
  b, this, last = tonumber(b), tonumber(this), tonumber(last)
  if this == 0 and last == 0 or b < begin - width then return begin, 0, 0 end
  if b == begin - width then return begin, 0, this end
  if b > begin + width then -- the clock went back, as for the other windows
    b = begin + width
    counter_write(key, now, b, this, last, width)
  end
  return math.max(b, begin), this, last
end

kinds.c = {
  look = function(key, at, now)
    local n, limit, width = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local begin, this, last = counter_read(key, now, width)
    local counted = this + share(last, width - math.max(0, now - begin), width)
    return n == 0 or counted + n <= limit, begin, this, last
  end,

  take = function(key, at, now, begin, this, last)
    this = this + tonumber(ARGV[at])
    counter_write(key, now, begin, this, last, tonumber(ARGV[at + 2]))
    return begin, this, last
  end,

  give = function(key, at, now, begin, this, last)
    local n, width, taken = tonumber(ARGV[at]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 4])
    if begin == taken then
      this = math.max(0, this - n)
    elseif begin == taken + width then
      last = math.max(0, last - n)
    else
      return begin, this, last
    end
    counter_write(key, now, begin, this, last, width)
    return begin, this, last
  end,

  args = 3,
}
