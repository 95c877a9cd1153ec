-- The usual case of an Acquire, before anything else: nobody has the key and
-- nobody waits. KEYS and ARGV as in acquire.lua.

if not got[2] then
  local granted = math.max(fence + 1, now)
  local ends, mark, till, said = digits(now + lease), digits(granted), kept()
  call('HSET', state, 'fence', mark, 'taken', ARGV[6], 'first', ends, 'kept', till,
    'o:' .. owner, ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. ends .. ' ' .. mark .. ' ' .. token .. ' ')
  if said then call('PEXPIRE', state, ARGV[1]) end
  return {GRANTED, granted, lease, 0}
end
