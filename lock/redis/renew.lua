-- Gives a sign of life for a claim that there is.
--
-- KEYS, ARGV[1..5] as in key.lua
-- ARGV[6] what the fence is raised to at least; 0: it stays

local floor = tonumber(ARGV[6])
local mine = found()
if not mine or not carries(mine) then
  return refuse(GONE)
end
if floor > tonumber(call('GET', counter) or 0) then call('SET', counter, digits(floor), 'PX', memory) end
if mine.fence > 0 then mine.fence = math.max(mine.fence, floor) end
prolong(mine)
save(mine)
return standing(mine)
