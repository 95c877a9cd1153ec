-- Reads what is left, for a holder of the lock.
-- KEYS  greatest fence seen, units that are left
-- ARGV  fence of the holder
-- Returns the units, or -1 for a holder whose turn is over.
local fence = tonumber(ARGV[1])
if fence < tonumber(redis.call('GET', KEYS[1]) or 0) then return -1 end
redis.call('SET', KEYS[1], ARGV[1])
return tonumber(redis.call('GET', KEYS[2]))
