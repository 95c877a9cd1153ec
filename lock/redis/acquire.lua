-- Makes a claim, or gives a sign of life for it.
--
-- KEYS, ARGV[1..5] as in key.lua
-- ARGV[6] the permits it needs
-- ARGV[7] the permits that there are
-- ARGV[8] how many may wait before it; 0: it does not wait
-- ARGV[9] how many owners may hold the key, ARGV[10] how many times each

local need, limit, room = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local mine = found()
if mine then
  if not carries(mine) then
    if mine.fence == 0 and room == 0 then return refuse(TAKEN) end
    if need > mine.need then return refuse(DENIED) end
    local _, holds = string.gsub(mine.tokens, '%S+', '')
    if holds >= tonumber(ARGV[10]) then return refuse(FULL) end
    mine.tokens = mine.tokens .. token .. ' '
  end
  prolong(mine)
  save(mine)
  return standing(mine)
end

mine = {need = need, limit = limit, ends = now + lease, fence = 0, tokens = ' ' .. token .. ' '}
if waiting == 0 and taken + need <= limit then
  if taken > 0 and call('HLEN', claims) > tonumber(ARGV[9]) then return refuse(FULL) end
  taken, mine.fence = taken + need, grown()
  save(mine)
  return {GRANTED, mine.fence, lease, 0}
end
if room == 0 then
  return refuse(TAKEN)
end
if waiting >= room then
  return refuse(FULL)
end
waiting = waiting + 1
call('ZADD', line, call('HINCRBY', claims, 'ticket', 1), owner)
save(mine)
return standing(mine)
