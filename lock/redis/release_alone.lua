-- The usual case of a Release, before anything else: the claim is the only one,
-- and has no other token. KEYS and ARGV as in release.lua.

local me, had = owner .. ' ' .. token .. ' ', call('GET', alone)
if had and string.sub(had, 1, #me) == me then
  call('DEL', alone)
  return {GRANTED, 0, 0, 0}
end
