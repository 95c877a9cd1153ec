-- Makes what was loaded the picture. It stays closed until the load ends.
--
-- KEYS, ARGV[1..5] as in load.lua
-- ARGV[6] how many chunks were laid down
-- ARGV[7…] fields and values of control, without epoch, before, run, seq, grants and waiting
--
-- Answers ok …, then the epoch that was before ('' for none); stale; or lost.
-- If it is the picture already, the answer got lost.

local there = laid()
if not there then return {'stale', '0'} end
local c = call('HMGET', control, 'epoch', 'seq', 'before')
local _, at = clock()
if c[1] == ARGV[1] then return {'ok', ARGV[1], '0', c[2], at, c[3]} end
if c[1] and tonumber(c[1]) > tonumber(ARGV[1]) then return {'stale', c[1]} end
if there ~= tonumber(ARGV[6]) then return {'lost'} end
local seq = digits((c[2] or 0) + 1)
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)') or ''
local fields = {unpack(ARGV, 7)}
call('PEXPIRE', loading, ARGV[5])
call('DEL', control)
call('HSET', control, 'epoch', ARGV[1], 'before', c[1] or '', 'run', run, 'seq', seq, 'grants', '0', 'waiting', '0', unpack(fields))
call('PERSIST', holders)
call('PERSIST', keys)
return {'ok', ARGV[1], '0', seq, at, c[1] or ''}
