-- Gives units and slots of claims back; and forgets their keys too, for grants
-- that were not recorded.
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
local limited = tonumber(c[5]) > 0
local ids = {}
for i = 1, #claims, 3 do ids[#ids + 1] = claims[i] end
local entries = call('HMGET', journal, unpack(ids))
local has = call('HMGET', holders, unpack(limited and users or ids))

local read_of, gone, given, unsettled, dirty = {}, {}, {}, {}, {}
for n, id in ipairs(ids) do
  local quantity, item
  if gone[id] then
    -- named twice in one call
  elseif limited then
    local user = claims[3 * n - 1]
    if has[user] then
      read_of[user] = read_of[user] or read(has[user])
      quantity, item = remove(read_of[user], id)
      if quantity then dirty[user] = read_of[user] end
    end
  elseif has[n] then
    quantity, item = string.match(has[n], '^(%d+) (.+)$')
  end
  if quantity then
    gone[id] = true
    gone[#gone + 1] = id
    given[item] = (given[item] or 0) + quantity
    if entries[n] then unsettled[item] = (unsettled[item] or 0) + quantity end
  end
end

-- Deletions come first: a full memory refuses none of them, nor what follows them.
local seq, changed = c[4], false
if #gone > 0 then
  call('HDEL', journal, unpack(gone))
  changed = true
  local rewritten = {}
  if limited then
    for user, mine in pairs(dirty) do
      local holds = text(mine)
      if holds == '' then
        call('HDEL', holders, users[user])
      else
        rewritten[#rewritten + 1] = users[user]
        rewritten[#rewritten + 1] = holds
      end
    end
  else
    call('HDEL', holders, unpack(gone))
  end
  if #rewritten > 0 then call('HSET', holders, unpack(rewritten)) end
end
if ARGV[4] == 'forget' then
  for i = 1, #claims, 3 do
    if claims[i + 2] ~= '' and call('HGET', keys, claims[i + 2]) == claims[i] then
      call('HDEL', keys, claims[i + 2])
      changed = true
    end
  end
end

if changed then
  seq = digits(seq + 1)
  call('HSET', control, 'seq', seq)
end
local answer, refilled = {'ok', c[1], c[3], seq, at}, false
for item, n in pairs(given) do
  if unsettled[item] then call('HINCRBY', control, 'unsettled:' .. item, digits(-unsettled[item])) end
  local free = call('HINCRBY', control, 'free:' .. item, digits(n))
  refilled = refilled or (free > 0 and free <= n)
  answer[#answer + 1] = item
  answer[#answer + 1] = digits(free)
end
if refilled then tell() end
return answer
