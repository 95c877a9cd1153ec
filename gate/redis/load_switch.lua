-- Makes what was loaded the picture. It stays closed until the load ends.
--
-- KEYS, ARGV[1..5] as in load_begin.lua
-- ARGV[6…] fields and values of control, without epoch, run, seq, grants and waiting
--
-- Answers ok …, then the epoch that was before ('' for none).

if call('GET', loading) ~= ARGV[1] .. ' ' .. ARGV[4] then return {'stale', '0'} end
local c = call('HMGET', control, 'epoch', 'seq')
if c[1] and tonumber(c[1]) >= tonumber(ARGV[1]) then return {'stale', c[1]} end
local _, at = clock()
local seq = digits((c[2] or 0) + 1)
local run = string.match(call('INFO', 'server'), 'run_id:(%x+)') or ''
local fields = {unpack(ARGV, 6)}
call('PEXPIRE', loading, ARGV[5])
call('DEL', control)
call('HSET', control, 'epoch', ARGV[1], 'run', run, 'seq', seq, 'grants', '0', 'waiting', '0', unpack(fields))
call('PERSIST', holders)
call('PERSIST', keys)
return {'ok', ARGV[1], '0', seq, at, c[1] or ''}
