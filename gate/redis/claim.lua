-- Decides a batch of asks, in their order, in one step: see rushgate.Decide.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] how many claims the journal may hold
-- ARGV[5] the tag of the batch
-- ARGV[6] the batch, as MessagePack: a list of
--   items       the items that are asked for, each once
--   lines       "QUANTITY ITEM TAG", each combination once
--   item_of     line -> its place in items
--   quantity_of line -> its quantity
--   users       the users, each once
--   names       the idempotency keys, each once
--   asks        for each ask its id; with a limit, the record of the claim in
--               slot 0 instead, where most will be
--   user_of     ask -> its place in users; empty when it is the ask's own
--   line_of     ask -> its place in lines; empty when all have the first
--   name_of     ask -> its place in names, 0 for no key; empty when none has one
--
-- Answers ok …, then the sale's level, grants, '1' when all grants came with the
-- tag that was given, the decisions with a space between, and what is free of each of the items ('' for an unknown one).
-- A decision is a letter and what belongs to it:
--   gSLOT granted    rID replayed      lID,ID… limit reached    s sold out
--   o not open       c closed          z frozen                 n no such item
--   f the journal is full
-- GSLOT alone says that every ask is granted in that slot.

local batch = cmsgpack.unpack(ARGV[6])
local items, lines, item_of, quantity_of = batch[1], batch[2], batch[3], batch[4]
local users, names, asks = batch[5], batch[6], batch[7]
local user_of, line_of, name_of = batch[8], batch[9], batch[10]

local fields = {'epoch', 'shards', 'version', 'seq', 'opens', 'closes', 'frozen', 'ended', 'per_user', 'hold', 'ack', 'grants', 'waiting'}
local fixed = #fields
for i, item in ipairs(items) do
  fields[fixed + 2 * i - 1] = 'free:' .. item
  fields[fixed + 2 * i] = 'unsettled:' .. item
end
local c = call('HMGET', control, unpack(fields))
local refused = unusable(c[1], c[2])
if refused then return refused end
local now, at = clock()
local limit, hold = tonumber(c[9]), tonumber(c[10])
local limited = limit > 0

-- A batch that is asked again, in part, may have an entry in the journal from
-- the first time: what is granted now comes with another tag.
local tag = ARGV[5]
local first = call('HEXISTS', journal, tag) == 0
if not first then
  tag = tag .. '+' .. c[4]
  for i, line in ipairs(lines) do lines[i] = string.gsub(line, '%S+$', tag) end
  for i = 1, limited and #asks or 0 do asks[i] = string.gsub(asks[i], '%S+$', tag) end
end

local standing
if c[8] == '1' or (c[6] ~= '0' and now >= tonumber(c[6])) then
  standing = 'c'
elseif c[7] == '1' then
  standing = 'z'
elseif c[5] ~= '0' and now < tonumber(c[5]) then
  standing = 'o'
end

-- What is known of users and keys. Without a limit, claims are known by id.
local known = #names > 0 and call('HMGET', keys, unpack(names)) or {}
local has
if limited then
  has = call('HMGET', holders, unpack(users))
else
  has = call('HMGET', holders, unpack(asks))
end

local free, taken = {}, {}
for i = 1, #items do free[i], taken[i] = tonumber(c[fixed + 2 * i - 1] or nil), 0 end
local room = ARGV[4] - c[13]

local read_of, dirty = {}, {}    -- users who were looked at closely, and those who changed so
local to_holders, to_keys, slots = {}, {}, {}
local nh, nk, granted, again = 0, 0, 0, false
local out = {}

-- In a rush nearly every batch is plain: everybody asks for the same and has
-- nothing yet, and there is enough for all. One look at each decides it.
local function plain()
  local n, fields, quantity = #asks, limited and users or asks, quantity_of[1]
  if standing or not first or #names > 0 or #line_of > 0 or #fields ~= n or limited and (#user_of > 0 or quantity > limit)
    or (free[1] or 0) < n * quantity or room < n then
    return false
  end
  local given = {unpack(fields, 1, 2 * n)} -- has its size at once
  for place = 1, n do
    if has[place] then return false end
    given[2 * place - 1], given[2 * place] = fields[place], limited and asks[place] or lines[1]
  end
  free[1], taken[1], granted, to_holders = free[1] - n * quantity, n * quantity, n, given
  slots[1] = limited and 0 or -1
  out[1] = 'G' .. slots[1]
  return true
end

for place, ask in ipairs(plain() and {} or asks) do
  local user, line, key = user_of[place] or place, line_of[place] or 1, name_of[place] or 0
  local prior, mine, slot, id = key > 0 and known[key], nil, nil, ask
  if limited then
    mine = read_of[user]
    if not mine and has[user] then
      mine = read(has[user])
      read_of[user] = mine
    end
    if mine or key > 0 then
      id = string.match(ask, '^0 (%d+)')
      slot = mine and mine.slots[id]
    end
  elseif has[place] then
    slot = -1
  end
  if prior and prior ~= id then
    out[place] = 'r' .. prior
  elseif slot then
    again = true
    out[place] = 'g' .. slot
  elseif prior then
    out[place] = 'r' .. prior
  else
    local item, quantity = item_of[line], quantity_of[line]
    if not free[item] then
      out[place] = 'n'
    elseif standing then
      out[place] = standing
    elseif limited and (quantity > limit or (mine and mine.units > limit - quantity)) then
      local ids = {}
      for held in pairs(mine and mine.slots or {}) do ids[#ids + 1] = held end
      out[place] = 'l' .. table.concat(ids, ',')
    elseif free[item] < quantity then
      out[place] = 's'
    elseif room <= 0 then
      out[place] = 'f'
    else
      free[item] = free[item] - quantity
      taken[item] = taken[item] + quantity
      room = room - 1
      if not limited then
        slot = -1
        to_holders[nh + 1], to_holders[nh + 2] = id, lines[line]
        nh = nh + 2
        out[place] = 'g-1'
      elseif not mine then
        slot = 0
        has[user] = ask
        to_holders[nh + 1], to_holders[nh + 2] = users[user], ask
        nh = nh + 2
        out[place] = 'g0'
      else
        slot = lowest(mine)
        add(mine, slot, id, quantity, lines[line])
        dirty[user] = mine
        out[place] = 'g' .. slot
      end
      granted = granted + 1
      slots[place] = slot
      if key > 0 then
        known[key] = id
        to_keys[nk + 1], to_keys[nk + 2] = names[key], id
        nk = nk + 2
      end
    end
  end
end

-- A user who was written at the first claim of the batch is written again with
-- the others: of two values for a field, the later one stays.
for user, mine in pairs(dirty) do
  to_holders[nh + 1], to_holders[nh + 2] = users[user], text(mine)
  nh = nh + 2
end

local seq, grants = c[4], c[12]
if granted > 0 or again then
  seq, grants = digits(seq + 1), digits(grants + granted)
  local changed, units, emptied = {'seq', seq, 'grants', grants, 'waiting', digits(c[13] + granted)}, {}, false
  for i, item in ipairs(items) do
    if taken[i] > 0 then
      changed[#changed + 1] = 'free:' .. item
      changed[#changed + 1] = digits(free[i])
      changed[#changed + 1] = 'unsettled:' .. item
      changed[#changed + 1] = digits(c[fixed + 2 * i] + taken[i])
      units[#units + 1] = item
      units[#units + 1] = taken[i]
      emptied = emptied or free[i] == 0
    end
  end
  call('HSET', control, unpack(changed))
  if granted > 0 then
    call('HSET', holders, unpack(to_holders))
    local asked = ARGV[6]
    if granted < #asks or not first then
      asked, slots = narrowed(batch, slots, function(n) return not slots[n] end)
    end
    local expires = hold > 0 and now + hold or 0
    call('HSET', journal, tag, cmsgpack.pack({true, now, expires, units, slots, asked, granted}))
  end
  if nk > 0 then call('HSET', keys, unpack(to_keys)) end
  if emptied then tell() end
end

local answer = {'ok', c[1], c[3], seq, at, c[11], grants, first and not again and '1' or '0', table.concat(out, ' ')}
for i = 1, #items do answer[9 + i] = free[i] and digits(free[i]) or '' end
return answer
