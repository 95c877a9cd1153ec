-- Puts some claims of a snapshot beside the present picture.
--
-- KEYS, ARGV[1..5] as in load.lua
-- ARGV[6] the number of the chunk, from 1; one that is there already is not laid down again
-- ARGV[7] '1' when the sale has a limit
-- ARGV[8] the claims, as MessagePack: a list of
--   users   the users of the active claims, each once
--   claims  for each active claim: its id, its place in users, its slot
--           (-1: the lowest that is free), its quantity, and "QUANTITY ITEM -"
--   names   keys, and the ids of the claims that they made, in turn
--
-- Answers ok, 'taken ID' when another claim stands in that slot, lost, and stale
-- when the load was taken over, or took too long.

local number, there = tonumber(ARGV[6]), laid()
if not there then return {'stale', '0'} end
if there < number - 1 then return {'lost'} end
if there >= number then return {'ok', ARGV[1], '0', '0', '0'} end
local batch = cmsgpack.unpack(ARGV[8])
local users, claims, names = batch[1], batch[2], batch[3]
local write = {}
if #claims > 0 and ARGV[7] == '1' then
  local has, read_of = call('HMGET', holders, unpack(users)), {}
  for i = 1, #claims, 5 do
    local id, user, slot = claims[i], claims[i + 1], claims[i + 2]
    read_of[user] = read_of[user] or read(has[user])
    local mine = read_of[user]
    if slot < 0 then slot = lowest(mine) end
    if mine.records[slot] then return {'taken', id} end
    add(mine, slot, id, claims[i + 3], claims[i + 4])
  end
  for user, mine in pairs(read_of) do
    write[#write + 1] = users[user]
    write[#write + 1] = text(mine)
  end
else
  for i = 1, #claims, 5 do
    write[#write + 1] = claims[i]
    write[#write + 1] = claims[i + 4]
  end
end
if #write > 0 then call('HSET', holders, unpack(write)) end
if #names > 0 then call('HSET', keys, unpack(names)) end
keep(ARGV[6])
call('PEXPIRE', holders, 2 * ARGV[5])
call('PEXPIRE', keys, 2 * ARGV[5])
return {'ok', ARGV[1], '0', '0', '0'}
