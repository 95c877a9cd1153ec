-- Numbers in all these scripts are whole and below 2^53. A command takes them as
-- they are (Redis writes them with %.17g); within a value, '%.0f' writes them.

-- Time, as every decision has it: the server's own, in microseconds since 1970.
-- (In tests another file stands in this place.)

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- How long a key is kept that must be known for so many microseconds, in whole
-- milliseconds. A key that has gone stands as if it had never been used.
local function life(us)
  return math.ceil(us / 1000) + 1
end
