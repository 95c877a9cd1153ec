-- The journal: what was granted and is not recorded yet, an entry for each batch.
--
-- One entry for a whole batch costs next to nothing beside its claims, and is
-- taken out in one step where all of it was recorded together, as nearly always.
--
-- An entry is a list, as MessagePack:
--   whole     true while it is as it was written
--   at        when it was decided, in milliseconds
--   expires   when the claims will expire, 0 for never
--   units     the units of each item: item and number in turn
--   slots     the slot of each claim; or one, if all have the same
--   batch     what was asked, as claim.lua is given it, less what was not granted
--   n         how many claims it holds
-- Its tag is made by the node that asked, and never used for another batch.

-- narrowed returns a batch without the asks that drop(index, id) names, as
-- MessagePack, and the slots, units and number of those that stay.
local function narrowed(batch, slots, drop)
  local item_of, quantity_of, user_of, line_of, name_of = batch[3], batch[4], batch[8], batch[9], batch[10]
  local users, names, asks, lines, keyed, kept, units, n = {}, {}, {}, {}, {}, {}, {}, 0
  for place, ask in ipairs(batch[7]) do
    local user, line, key = user_of[place] or place, line_of[place] or 1, name_of[place] or 0
    if not drop(place, string.match(ask, '^%d+$') or string.match(ask, '^0 (%d+)')) then
      n = n + 1
      kept[n] = slots[place] or slots[1]
      users[n] = batch[5][user]
      local name = 0
      if key > 0 then
        name = #names + 1
        names[name] = batch[6][key]
      end
      asks[n], lines[n], keyed[n] = ask, line, name
      local item = batch[1][item_of[line]]
      units[item] = (units[item] or 0) + quantity_of[line]
    end
  end
  return cmsgpack.pack({batch[1], batch[2], item_of, quantity_of, users, names, asks, {}, lines, keyed}), kept, units, n
end

-- flat writes a table as a list of names and values.
local function flat(t)
  local list = {}
  for k, v in pairs(t) do
    list[#list + 1] = k
    list[#list + 1] = v
  end
  return list
end

-- take takes n different claims out of an entry; all of them came with its tag,
-- so that n of a whole entry of n are all of them. ids returns them as a set, if
-- it must be known. The units of those that were still there are added to units,
-- by item; their number is returned.
local function take(tag, n, ids, units)
  local text = call('HGET', journal, tag)
  if not text then return 0 end
  local entry = cmsgpack.unpack(text)
  local slots, before = entry[5], entry[7]
  if entry[1] and n == before then
    call('HDEL', journal, tag)
    for i = 1, #entry[4], 2 do units[entry[4][i]] = (units[entry[4][i]] or 0) + entry[4][i + 1] end
    return n
  end
  local set = ids()
  local batch, kept, left, rest = narrowed(cmsgpack.unpack(entry[6]), slots, function(_, id) return set[id] end)
  if rest == before then return 0 end
  for i = 1, #entry[4], 2 do
    local item = entry[4][i]
    units[item] = (units[item] or 0) + entry[4][i + 1] - (left[item] or 0)
  end
  call('HDEL', journal, tag) -- first, so that a full memory does not refuse the rest
  if rest > 0 then
    call('HSET', journal, tag, cmsgpack.pack({false, entry[2], entry[3], flat(left), kept, batch, rest}))
  end
  return before - rest
end

-- waiting returns which claims an entry still has, as a function of their ids.
local function waiting(tag)
  local text = call('HGET', journal, tag)
  if not text then return function() return false end end
  local entry = cmsgpack.unpack(text)
  if entry[1] then return function() return true end end
  local ids = {}
  for _, ask in ipairs(cmsgpack.unpack(entry[6])[7]) do
    ids[string.match(ask, '^%d+$') or string.match(ask, '^0 (%d+)')] = true
  end
  return function(id) return ids[id] end
end

-- settled writes down that so many claims with those units left the journal.
local function settled(n, units)
  call('HINCRBY', control, 'waiting', digits(-n))
  for item, u in pairs(units) do
    if u ~= 0 then call('HINCRBY', control, 'unsettled:' .. item, digits(-u)) end
  end
end
