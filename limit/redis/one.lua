-- Decides about one key, in one step: what decide.lua does, for a single rule,
-- which most are.
--
-- KEYS, ARGV and the answer are those of decide.lua.

local key, action, now = KEYS[1], ARGV[1], clock()
local kind = kinds[ARGV[2]]
local granted, x, y, z = kind.look(key, 3, now)
if action == 'take' then
  if granted then x, y, z = kind.take(key, 3, now, x, y, z) end
elseif action == 'give' and tonumber(ARGV[3 + kind.args]) <= now then
  x, y, z = kind.give(key, 3, now, x, y, z)
end
return {now, granted and 1 or 0, x, y, z}
