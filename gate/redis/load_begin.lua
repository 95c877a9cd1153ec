-- Begins to load a sale: claims and changes wait until it has ended.
--
-- KEYS, ARGV[1..5] as in load.lua
--
-- Answers stale when the picture, or another load, is as new; else ok.

local epoch = call('HGET', control, 'epoch')
if epoch and tonumber(epoch) >= tonumber(ARGV[1]) then return {'stale', epoch} end
local other = string.match(call('GET', loading) or '', '^%d+')
if other and tonumber(other) > tonumber(ARGV[1]) then return {'stale', other} end
local _, at = clock()
if not laid() then
  keep('0')
  call('UNLINK', holders, keys, journal, moves)
end
return {'ok', ARGV[1], '0', '0', at}
