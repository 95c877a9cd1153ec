-- Gives a sign of life for a claim that there is.
--
-- KEYS, ARGV[1..5] as in key.lua
-- ARGV[6] what the fence is raised to at least; 0: it stays
--
-- A fence that is kept while the counter was forgotten raises nothing: there may
-- have been greater ones.

local floor = tonumber(ARGV[6])
local mine = found()
if not mine or not carries(mine) then
  return refuse(GONE)
end
if floor > latest() then call('SET', counter, digits(floor), 'PX', memory) end
if mine.fence > 0 then mine.fence = math.max(mine.fence, floor) end
prolong(mine)
save(mine)
return standing(mine)
