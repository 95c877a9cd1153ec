-- Carries out an intent, unless a later one was here.
--
-- KEYS[1] the hash of the set: member -> '+' or '-', and the number of its latest intent
-- KEYS[2] how many members are on
-- ARGV[1] the member
-- ARGV[2] '+' for on, '-' for off
-- ARGV[3] the number of the intent, a positive decimal
--
-- Answers what is in the hash afterwards, and before it a letter: a applied,
-- c applied and changed, r repeated, l too late, x the same number with the
-- opposite wish. Numbers are compared as text: beyond 2^53, Lua's are not exact.

local was = redis.call('HGET', KEYS[1], ARGV[1])
local sign, seq = '-', '0'
if was then
  sign, seq = string.sub(was, 1, 1), string.sub(was, 2)
end
if ARGV[3] == seq then return (sign == ARGV[2] and 'r' or 'x') .. was end
if #ARGV[3] < #seq or (#ARGV[3] == #seq and ARGV[3] < seq) then return 'l' .. was end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ARGV[3])
if sign == ARGV[2] then return 'a' .. ARGV[2] .. ARGV[3] end
redis.call('INCRBY', KEYS[2], ARGV[2] == '+' and 1 or -1)
return 'c' .. ARGV[2] .. ARGV[3]
