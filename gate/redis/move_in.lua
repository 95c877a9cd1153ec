-- Adds units that came from another shard, once.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] the move's token
-- ARGV[5] the item
-- ARGV[6] how many units
--
-- Answers ok …, then what is free now.

local name = 'free:' .. ARGV[5]
local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', name)
local refused = unusable(c[1], c[2])
if refused then return refused end
local _, at = clock()
local free, seq = tonumber(c[5] or 0), c[4]
if call('HSETNX', moves, 'in:' .. ARGV[4], at) == 1 then
  seq = digits(seq + 1)
  free = free + ARGV[6]
  call('HSET', control, 'seq', seq, name, digits(free))
  call('HINCRBY', control, 'moves', 1)
end
return {'ok', c[1], c[3], seq, at, digits(free)}
