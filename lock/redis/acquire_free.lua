-- The usual case of an Acquire, before anything else: nobody has the key and
-- nobody waits. KEYS and ARGV as in acquire.lua.

if not got[2] then
  local granted = math.max(fence + 1, now)
  local entry = string.format('%s %s %.0f %.0f %s ', ARGV[6], ARGV[7], now + lease, granted, token)
  call('HSET', state, 'fence', granted, 'taken', ARGV[6], 'waiting', 0, 'first', now + lease, 'o:' .. owner, entry)
  call('PEXPIRE', state, ARGV[1])
  return {GRANTED, granted, lease, 0}
end
