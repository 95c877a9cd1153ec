-- One claim, the way it is usually done.
-- KEYS[1] the stock   KEYS[2] users who have one   KEYS[3] the stream of orders
-- ARGV[1] the user    ARGV[2] the item             ARGV[3] the order's number
-- Returns 0: granted, 1: sold out, 2: has one already.
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then
  return 2
end
if tonumber(redis.call('GET', KEYS[1]) or '0') < 1 then
  return 1
end
redis.call('DECR', KEYS[1])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'item', ARGV[2], 'id', ARGV[3])
return 0
