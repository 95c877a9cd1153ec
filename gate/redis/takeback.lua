-- Gives units and slots of claims back; and forgets their keys too, for grants
-- that were not recorded. Only what still waits in the journal is forgotten: who
-- is late with that may be speaking of a claim that somebody else has recorded.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] 'forget' or 'return'
-- ARGV[5] the claims, as MessagePack: a list of
--   users   the users, each once
--   claims  for each claim: its id, its place in users, and its key ('' for none)
--
-- Answers ok …, then the items that got units back, each with what is free now.

local batch = cmsgpack.unpack(ARGV[5])
local users, claims = batch[1], batch[2]
local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', 'per_user')
local refused = unusable(c[1], c[2])
if refused then return refused end

local _, at = clock()
local limited = c[5] ~= '0'
local ids = {}
for i = 1, #claims, 3 do ids[#ids + 1] = claims[i] end
local has = call('HMGET', holders, unpack(limited and users or ids))

local forget, waits = ARGV[4] == 'forget', {}
local function stays(tag, id)
  if not forget then return false end
  waits[tag] = waits[tag] or waiting(tag)
  return not waits[tag](id)
end

local read_of, dirty, gone, given, sets, counts = {}, {}, {}, {}, {}, {}
for n, id in ipairs(ids) do
  local quantity, item, tag
  if gone[id] then
    quantity = nil -- named twice in one call
  elseif limited then
    local user = claims[3 * n - 1]
    if has[user] then
      local mine = read_of[user] or read(has[user])
      read_of[user] = mine
      local record = mine.records[mine.slots[id]]
      if record and not stays(string.match(record, '(%S+)$'), id) then
        quantity, item, tag = remove(mine, id)
        dirty[user] = mine
      end
    end
  elseif has[n] then
    quantity, item, tag = string.match(has[n], '^(%d+) (%S*) (%S+)$')
    if stays(tag, id) then quantity = nil end
  end
  if quantity then
    gone[id] = true
    gone[#gone + 1] = id
    given[item] = (given[item] or 0) + quantity
    if tag ~= '-' then
      sets[tag] = sets[tag] or {}
      sets[tag][id] = true
      counts[tag] = (counts[tag] or 0) + 1
    end
  end
end

-- Deletions come first: a full memory refuses none of them, nor what follows them.
local changed = #gone > 0
if changed then
  call('HDEL', journal, '-') -- deletes nothing
  local rewritten = {}
  for user, mine in pairs(dirty) do
    local holds = text(mine)
    if holds == '' then
      call('HDEL', holders, users[user])
    else
      rewritten[#rewritten + 1] = users[user]
      rewritten[#rewritten + 1] = holds
    end
  end
  if #rewritten > 0 then call('HSET', holders, unpack(rewritten)) end
  if not limited then call('HDEL', holders, unpack(gone)) end
  local units, n = {}, 0
  for tag, set in pairs(sets) do
    n = n + take(tag, counts[tag], function() return set end, units)
  end
  if n > 0 then settled(n, units) end
end
if forget then
  for i = 1, #claims, 3 do
    if gone[claims[i]] and claims[i + 2] ~= '' and call('HGET', keys, claims[i + 2]) == claims[i] then
      call('HDEL', keys, claims[i + 2])
      changed = true
    end
  end
end

local seq = c[4]
if changed then
  seq = digits(seq + 1)
  call('HSET', control, 'seq', seq)
end
local answer, refilled = {'ok', c[1], c[3], seq, at}, false
for item, n in pairs(given) do
  local free = call('HINCRBY', control, 'free:' .. item, digits(n))
  refilled = refilled or (free > 0 and free <= n)
  answer[#answer + 1] = item
  answer[#answer + 1] = digits(free)
end
if refilled then tell() end
return answer
