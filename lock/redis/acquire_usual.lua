-- The usual cases of an Acquire, before anything else. KEYS and ARGV as in
-- acquire.lua.

local had = call('GET', alone)

-- Nobody has the key and nobody waits.
if not had then
  local fence = grown()
  call('SET', alone, owner .. ' ' .. token .. ' ' .. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. digits(fence), 'PX', ARGV[5])
  return {GRANTED, fence, ARGV[5] * 1000, 0}
end

-- Somebody else has it alone, there is no room for two, and the caller does not
-- wait: nothing is written, and the holder's release stays the usual case, too.
if ARGV[8] == '0' and had ~= 'shared' then
  local who, need = string.match(had, '^(%S+) %S+ (%d+) ')
  if who ~= owner and need + ARGV[6] > tonumber(ARGV[7]) then
    return {TAKEN, 0, call('PTTL', alone) * 1000, 0}
  end
end
