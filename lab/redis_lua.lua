-- One claim.
-- KEYS  units that are left, users who have one, list of orders
-- ARGV  user, line of the order, then the numbers of the answers:
--       granted, sold out, already
-- Returns the number of an answer.
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return tonumber(ARGV[5])
end
if tonumber(redis.call('GET', KEYS[1])) <= 0 then
  return tonumber(ARGV[4])
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('RPUSH', KEYS[3], ARGV[2])
return tonumber(ARGV[3])
