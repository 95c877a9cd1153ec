-- Tells whether the server that answers is the one that the picture was loaded into.
--
-- KEYS, ARGV[1..3] as in control.lua
--
-- Answers none, or ok …, then the run id in the picture, then the server's.

local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', 'run')
if not c[1] then return {'none'} end
local _, at = clock()
return {'ok', c[1], c[3], c[4], at, c[5] or '', string.match(call('INFO', 'server'), 'run_id:(%x+)') or ''}
