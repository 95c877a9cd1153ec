-- Takes claims out of the journal: they are recorded.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] the claims, as MessagePack: a list of
--   groups  claims whose tag is known: the tag, how many they are, and their
--           ids, as MessagePack once more, in turn
--   users   the users of the others, each once
--   others  for each of the others: its id, and its place in users
--
-- Answers ok …, then how many were there.

local batch = cmsgpack.unpack(ARGV[4])
local groups, users, others = batch[1], batch[2], batch[3]
local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', 'per_user')
local refused = unusable(c[1], c[2])
if refused then return refused end

local _, at = clock()
local units, n = {}, 0
for i = 1, #groups, 3 do
  n = n + take(groups[i], groups[i + 1], function()
    local set = {}
    for _, id in ipairs(cmsgpack.unpack(groups[i + 2])) do set[id] = true end
    return set
  end, units)
end

-- Those whose tag is not known have it in their holder's record.
if #others > 0 then
  local fields, limited = users, c[5] ~= '0'
  if not limited then
    fields = {}
    for i = 1, #others, 2 do fields[#fields + 1] = others[i] end
  end
  local has, sets, counts = call('HMGET', holders, unpack(fields)), {}, {}
  local tags_of = {} -- a user's claims and their tags: somebody may have thousands
  for i = 1, #others, 2 do
    local id, user, tag = others[i], others[i + 1], nil
    if limited then
      if not tags_of[user] then
        tags_of[user] = {}
        for claim, of in string.gmatch(has[user] or '', '%d+ (%d+) %d+ %S* ([^; ]+)') do tags_of[user][claim] = of end
      end
      tag = tags_of[user][id]
    else
      tag = string.match(has[(i + 1) / 2] or '', '(%S+)$')
    end
    if tag and tag ~= '-' then
      sets[tag] = sets[tag] or {}
      if not sets[tag][id] then
        sets[tag][id] = true
        counts[tag] = (counts[tag] or 0) + 1
      end
    end
  end
  for tag, set in pairs(sets) do
    n = n + take(tag, counts[tag], function() return set end, units)
  end
end

local seq = c[4]
if n > 0 then
  settled(n, units)
  seq = digits(seq + 1)
  call('HSET', control, 'seq', seq)
end
return {'ok', c[1], c[3], seq, at, n}
