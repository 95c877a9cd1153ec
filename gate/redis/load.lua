-- What the scripts of a load begin with. A load is one loader's, for a time, and
-- lays a snapshot beside the present picture in numbered chunks. How many of them
-- are there is written down in the same step; so a chunk that comes twice is
-- known, and a server that lost some of them cannot pass for one that has all.
--
-- KEYS, ARGV[1..3] as in control.lua, with the new epoch
-- ARGV[4] the loader's token
-- ARGV[5] for how many milliseconds the loader has the sale, unless it goes on
--
-- Beside the answers in control.lua:
--   lost   some of the chunks that were laid down are gone

-- laid returns how many chunks of this load are there, or nothing when somebody
-- else loads the sale, or nobody does.
local function laid()
  local epoch, token, chunks = string.match(call('GET', loading) or '', '^(%d+) (%S+) (%d+)$')
  if epoch == ARGV[1] and token == ARGV[4] then return tonumber(chunks) end
end

-- keep writes down that so many chunks are there, and has the sale for as long again.
local function keep(chunks)
  call('SET', loading, ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. chunks, 'PX', ARGV[5])
end
