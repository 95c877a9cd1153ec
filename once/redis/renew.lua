-- Makes the lease of an attempt begin anew.
--
-- KEYS[1] the record, see record.go
-- ARGV[1] the owner
-- ARGV[2] the lease, in milliseconds
-- ARGV[3] for how long after it an attempt is remembered, in milliseconds
--
-- Answers 1, or 0 when the key is not the owner's.

local r = redis.call('GET', KEYS[1])
if not r then return 0 end
local head, owner, waits = string.match(r, '^(r %d+ %d+ %S+ )(%x+) %d+ (%d)$')
if owner ~= ARGV[1] then return 0 end
local t = redis.call('TIME')
local ends = string.format('%.0f', t[1] * 1000000 + t[2] + ARGV[2] * 1000)
redis.call('SET', KEYS[1], head .. owner .. ' ' .. ends .. ' ' .. waits, 'PX', ARGV[2] + ARGV[3])
return 1
