-- Decides a batch of asks, in their order, in one step: see rushgate.Decide.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] how many claims the journal may hold
-- ARGV[5] the batch, as MessagePack: a list of
--   items       the items that are asked for, each once
--   lines       "QUANTITY ITEM", each combination once
--   item_of     line -> its place in items
--   quantity_of line -> its quantity
--   users       the users, each once
--   names       the idempotency keys, each once
--   asks        for each ask: its id, and its places in users, lines and names (0: no key)
--
-- Answers ok …, then the sale's level, grants, the decisions with a space
-- between, and what is free of each of the items ('' for an unknown one).
-- A decision is a letter and what belongs to it:
--   gSLOT granted    rID replayed      lID,ID… limit reached    s sold out
--   o not open       c closed          z frozen                 n no such item
--   f the journal is full

local batch = cmsgpack.unpack(ARGV[5])
local items, lines, item_of, quantity_of = batch[1], batch[2], batch[3], batch[4]
local users, names, asks = batch[5], batch[6], batch[7]

local fields = {'epoch', 'shards', 'version', 'seq', 'opens', 'closes', 'frozen', 'ended', 'per_user', 'hold', 'ack', 'grants'}
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
if limit > 0 then
  has = call('HMGET', holders, unpack(users))
else
  local ids = {}
  for i = 1, #asks, 4 do ids[#ids + 1] = asks[i] end
  has = call('HMGET', holders, unpack(ids))
end

local free, taken = {}, {}
for i = 1, #items do free[i], taken[i] = tonumber(c[fixed + 2 * i - 1] or nil), 0 end
local room = ARGV[4] - call('HLEN', journal)

local expires = hold > 0 and digits(now + hold) or '0'
local function tail_of(slot) return '\n' .. slot .. ' ' .. at .. ' ' .. expires .. '\n' end
local first_tail, no_tail = tail_of(0), tail_of(-1)

local read_of, dirty = {}, {}            -- users who were looked at closely, and those who changed so
local to_holders, to_keys, to_journal = {}, {}, {}
local nh, nk, nj, again = 0, 0, 0, false
local out, place = {}, 0

for i = 1, #asks, 4 do
  local id, user, line, key = asks[i], asks[i + 1], asks[i + 2], asks[i + 3]
  place = place + 1
  local prior = key > 0 and known[key]
  local mine, slot
  if limit > 0 then
    mine = read_of[user]
    if not mine and has[user] then
      mine = read(has[user])
      read_of[user] = mine
    end
    slot = mine and mine.slots[id]
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
    elseif limit > 0 and (quantity > limit or (mine and mine.units > limit - quantity)) then
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
      local tail
      if limit == 0 then
        tail = no_tail
        to_holders[nh + 1], to_holders[nh + 2] = id, lines[line]
        nh = nh + 2
        out[place] = 'g-1'
      elseif not mine then
        local record = '0 ' .. id .. ' ' .. lines[line]
        has[user] = record
        to_holders[nh + 1], to_holders[nh + 2] = users[user], record
        nh = nh + 2
        tail = first_tail
        out[place] = 'g0'
      else
        slot = lowest(mine)
        add(mine, slot, id, quantity, lines[line])
        dirty[user] = mine
        tail = tail_of(slot)
        out[place] = 'g' .. slot
      end
      to_journal[nj + 1] = id
      to_journal[nj + 2] = lines[line] .. tail .. users[user] .. '\n' .. (names[key] or '')
      nj = nj + 2
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
if nj > 0 or again then
  seq, grants = digits(seq + 1), digits(grants + nj / 2)
  local changed, emptied = {'seq', seq, 'grants', grants}, false
  for i, item in ipairs(items) do
    if taken[i] > 0 then
      changed[#changed + 1] = 'free:' .. item
      changed[#changed + 1] = digits(free[i])
      changed[#changed + 1] = 'unsettled:' .. item
      changed[#changed + 1] = digits(c[fixed + 2 * i] + taken[i])
      emptied = emptied or free[i] == 0
    end
  end
  call('HSET', control, unpack(changed))
  if nj > 0 then
    call('HSET', holders, unpack(to_holders))
    call('HSET', journal, unpack(to_journal))
  end
  if nk > 0 then call('HSET', keys, unpack(to_keys)) end
  if emptied then tell() end
end

local answer = {'ok', c[1], c[3], seq, at, c[11], grants, table.concat(out, ' ')}
for i = 1, #items do answer[8 + i] = free[i] and digits(free[i]) or '' end
return answer
