-- Records what came of an attempt, and tells those who wait.
--
-- KEYS[1] the record, see record.go
-- ARGV[1] the owner
-- ARGV[2] what came of it: d, f or -
-- ARGV[3] for how long that is kept, in milliseconds; 0: for ever
-- ARGV[4] the value
-- ARGV[5] the channel where ends are told
-- ARGV[6] the key, as callers name it
--
-- Answers 1, also when it was recorded before; or 0 when the key is not the owner's.

local r = redis.call('GET', KEYS[1])
if not r then return 0 end
local phase, head, owner, at = string.match(r, '^(%S)( %d+ %d+ %S+ )(%x+)()')
if owner ~= ARGV[1] then return 0 end
if phase ~= 'r' then return phase == ARGV[2] and 1 or 0 end
local waits = string.match(r, ' %d+ (%d)', at)
local record = ARGV[2] .. head .. owner .. '\n' .. ARGV[4]
if ARGV[3] == '0' then
  redis.call('SET', KEYS[1], record)
else
  redis.call('SET', KEYS[1], record, 'PX', ARGV[3])
end
if waits == '1' then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
return 1
