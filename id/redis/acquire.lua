-- Leases a number that nobody has, or the one that the owner has already.
-- KEYS, ARGV and answers as in lease.lua.

local refused = unfit()
if refused then return refused end
distrust()

local all = redis.call('HGETALL', register)
local records = {}
for i = 1, #all, 2 do records[all[i]] = all[i + 1] end

local best, best_till
for n = 0, numbers - 1 do
  local from, till, has = record(records[digits(n)])
  if has == owner then return grant(n, from, till) end
  if (has == '' or till <= now) and (not best or till < best_till) then best, best_till = n, till end
end
if not best then return refuse('none') end
return grant(best, math.max(now, best_till), 0)
