-- The usual case of an Acquire, before anything else: nobody has the key and
-- nobody waits. KEYS and ARGV as in acquire.lua.

if call('EXISTS', alone) == 0 then
  local fence = grown()
  call('SET', alone, owner .. ' ' .. token .. ' ' .. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. digits(fence), 'PX', ARGV[5])
  return {GRANTED, fence, ARGV[5] * 1000, 0}
end
