-- The usual case of a Renew, before anything else: the claim is the only one, has
-- no other token, and its fence is what its holder says. KEYS and ARGV as in
-- renew.lua.

local me, had = owner .. ' ' .. token .. ' ', call('GET', alone)
if had and string.sub(had, 1, #me) == me then
  local fence = tonumber(string.match(had, '%d+$'))
  if fence >= tonumber(ARGV[6]) then
    call('PEXPIRE', alone, ARGV[5])
    return {GRANTED, fence, ARGV[5] * 1000, 0}
  end
end
