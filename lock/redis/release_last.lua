-- The usual case of a Release, before anything else: nobody waits, and the claim
-- is the only one. KEYS and ARGV as in release.lua.

if not got[3] and got[5] then
  local need, ends, granted, carried = string.match(got[5], '^(%d+) %d+ (%d+) (%d+) (%S+) $')
  if carried == token and need == got[2] and tonumber(ends) > now then
    call('HDEL', state, 'taken', 'first', 'o:' .. owner)
    return {GRANTED, tonumber(granted), 0, 0}
  end
end
