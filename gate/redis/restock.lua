-- Adds units to what is free of an item, or takes free units away.
--
-- KEYS[1..6], ARGV[1..3] as in control.lua
-- KEYS[7] the answer that was given to this very change, if it was asked before
-- ARGV[4] the epoch from which the change was made, 0 for any
-- ARGV[5] the item
-- ARGV[6] how many units, negative to take
-- ARGV[7] how many units of an item there may be
-- ARGV[8] for how many milliseconds the answer is remembered
--
-- Answers ok …, then 1 or 0 (not so many are free here), then what is free now;
-- 'item' when there is none of that name, 'bounds' when it would be too many.

local name = 'free:' .. ARGV[5]
local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', name)
local refused = unusable(c[1], c[2])
if refused then return refused end
if ARGV[4] ~= '0' and ARGV[4] ~= c[1] then return {'stale', c[1]} end
if not c[5] then return {'item'} end

local _, at = clock()
local free, add, seq = tonumber(c[5]), tonumber(ARGV[6]), c[4]
if call('EXISTS', KEYS[7]) == 1 then return {'ok', c[1], c[3], seq, at, '1', c[5]} end
if free + add > tonumber(ARGV[7]) then return {'bounds'} end
if add < 0 and free + add < 0 then return {'ok', c[1], c[3], seq, at, '0', c[5]} end
seq = digits(seq + 1)
call('HDEL', control, 'room') -- deletes nothing, and lets the change pass when the memory is full
call('HSET', control, 'seq', seq, name, digits(free + add))
call('SET', KEYS[7], '1', 'PX', ARGV[8])
if add ~= 0 then tell() end
return {'ok', c[1], c[3], seq, at, '1', digits(free + add)}
