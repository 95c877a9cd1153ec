-- Begins to load a sale: claims and changes wait until it has ended.
--
-- KEYS, ARGV[1..3] as in control.lua, with the new epoch
-- ARGV[4] the loader's token
-- ARGV[5] for how many milliseconds the loader has the sale, unless it goes on
--
-- Answers stale when the picture, or another load, is as new; else ok.

local epoch = call('HGET', control, 'epoch')
if epoch and tonumber(epoch) >= tonumber(ARGV[1]) then return {'stale', epoch} end
local other = string.match(call('GET', loading) or '', '^%d+')
if other and tonumber(other) > tonumber(ARGV[1]) then return {'stale', other} end
local _, at = clock()
call('SET', loading, ARGV[1] .. ' ' .. ARGV[4], 'PX', ARGV[5])
call('UNLINK', holders, keys, journal, moves)
return {'ok', ARGV[1], '0', '0', at}
