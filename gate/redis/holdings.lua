-- A user's holdings: records "SLOT ID QUANTITY ITEM TAG" by slot.

-- read returns the holdings that a text of KEYS[3] tells.
local function read(text)
  local h = {records = {}, slots = {}, units = 0, low = 0}
  for record in string.gmatch(text or '', '[^;]+') do
    local slot, id, quantity = string.match(record, '^(%d+) (%d+) (%d+) ')
    slot = tonumber(slot)
    h.records[slot] = record
    h.slots[id] = slot
    h.units = h.units + quantity
  end
  return h
end

-- lowest returns the lowest free slot.
local function lowest(h)
  while h.records[h.low] do h.low = h.low + 1 end
  return h.low
end

-- add puts a claim into a slot that is free. rest is "QUANTITY ITEM TAG".
local function add(h, slot, id, quantity, rest)
  h.records[slot] = slot .. ' ' .. id .. ' ' .. rest
  h.slots[id] = slot
  h.units = h.units + quantity
end

-- remove takes a claim out, and returns its quantity, item and tag, or nothing.
local function remove(h, id)
  local slot = h.slots[id]
  if not slot then return end
  local quantity, item, tag = string.match(h.records[slot], '^%d+ %d+ (%d+) (%S*) (%S+)$')
  h.records[slot], h.slots[id] = nil, nil
  h.units = h.units - quantity
  if slot < h.low then h.low = slot end
  return tonumber(quantity), item, tag
end

-- text writes holdings, '' for none.
local function text(h)
  local list = {}
  for _, record in pairs(h.records) do list[#list + 1] = record end
  return table.concat(list, ';')
end
