-- The usual case of an Acquire, before anything else: nobody has the key and
-- nobody waits. KEYS and ARGV as in acquire.lua.

if not got[2] then
  local granted = math.max(fence + 1, now)
  local entry = string.format('%s %s %.0f %.0f %s ', ARGV[6], ARGV[7], now + lease, granted, token)
  local till, said = kept()
  call('HSET', state, 'fence', granted, 'taken', ARGV[6], 'first', now + lease, 'kept', till, 'o:' .. owner, entry)
  if said then call('PEXPIRE', state, ARGV[1]) end
  return {GRANTED, granted, lease, 0}
end
