-- Sells one unit, for a holder of the lock that has read what is left.
-- KEYS  greatest fence seen, units that are left, users who have one, orders
-- ARGV  fence of the holder, what it read, user, line of the order, then the
--       numbers of the answers: granted, sold out, already, contended
-- Returns the number of an answer.
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[1]) or 0) then
  return tonumber(ARGV[8])
end
if redis.call('SISMEMBER', KEYS[3], ARGV[3]) == 1 then
  return tonumber(ARGV[7])
end
local left = tonumber(ARGV[2])
if left <= 0 then
  return tonumber(ARGV[6])
end
redis.call('SET', KEYS[2], left - 1)
redis.call('SADD', KEYS[3], ARGV[3])
redis.call('RPUSH', KEYS[4], ARGV[4])
return tonumber(ARGV[5])
