-- Takes free units out of a shard, on their way to another one.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] the move's token
-- ARGV[5] the item
-- ARGV[6] how many units at most
-- ARGV[7] the shard that they go to
--
-- Answers ok …, then how many units are on their way, then what is free now.

local name = 'free:' .. ARGV[5]
local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', name)
local refused = unusable(c[1], c[2])
if refused then return refused end
local now, at = clock()
local free, seq = tonumber(c[5] or 0), c[4]
local before = call('HGET', moves, 'out:' .. ARGV[4])
if before then return {'ok', c[1], c[3], seq, at, string.match(before, '^%S+ (%d+)'), c[5]} end
local units = math.min(free, tonumber(ARGV[6]))
if units <= 0 then return {'ok', c[1], c[3], seq, at, '0', digits(free)} end
seq = digits(seq + 1)
call('HSET', moves, 'out:' .. ARGV[4], ARGV[5] .. ' ' .. digits(units) .. ' ' .. ARGV[7] .. ' ' .. at)
call('HSET', control, 'seq', seq, name, digits(free - units))
call('HINCRBY', control, 'moves', 1)
return {'ok', c[1], c[3], seq, at, digits(units), digits(free - units)}
