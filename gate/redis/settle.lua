-- Takes claims out of the journal: they are recorded.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] the claims' ids, as MessagePack
--
-- Answers ok …, then how many were there.

local ids = cmsgpack.unpack(ARGV[4])
local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq')
local refused = unusable(c[1], c[2])
if refused then return refused end

local _, at = clock()
local entries, seen = call('HMGET', journal, unpack(ids)), {}
local units, settled = {}, {}
for i, id in ipairs(ids) do
  if entries[i] and not seen[id] then
    seen[id] = true
    settled[#settled + 1] = id
    local quantity, item = string.match(entries[i], '^(%d+) ([^\n]+)')
    units[item] = (units[item] or 0) + quantity
  end
end
local seq = c[4]
if #settled > 0 then
  call('HDEL', journal, unpack(settled))
  seq = digits(seq + 1)
  call('HSET', control, 'seq', seq)
  for item, n in pairs(units) do call('HINCRBY', control, 'unsettled:' .. item, digits(-n)) end
end
return {'ok', c[1], c[3], seq, at, #settled}
