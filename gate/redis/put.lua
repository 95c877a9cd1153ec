-- Replaces the rules of a sale, and leaves stock and holdings alone.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4] the epoch from which the rules were changed
-- ARGV[5] their version
-- ARGV[6] the version from which they were changed; 0: any lower one
-- ARGV[7…] fields and values: the rules. per_user is the first of them
--
-- Answers ok …; 'kind' when the limit would change between none and some.
-- The same version with the same rules is done already: the answer got lost.

local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq', 'per_user')
local refused = unusable(c[1], c[2])
if refused then return refused end
if ARGV[4] ~= c[1] then return {'stale', c[1]} end

local _, at = clock()
local rules = {unpack(ARGV, 7)}
local version, present = tonumber(ARGV[5]), tonumber(c[3])
if version < present then return {'stale', c[1]} end
if version == present then
  for i = 1, #rules, 2 do
    if call('HGET', control, rules[i]) ~= rules[i + 1] then return {'stale', c[1]} end
  end
  return {'ok', c[1], c[3], c[4], at}
end
if ARGV[6] ~= '0' and ARGV[6] ~= c[3] then return {'stale', c[1]} end
if (rules[2] == '0') ~= (c[5] == '0') then return {'kind'} end
local seq = digits(c[4] + 1)
call('HDEL', control, 'room') -- deletes nothing: a freeze must pass when the memory is full
call('HSET', control, 'version', ARGV[5], 'seq', seq, unpack(rules))
tell()
return {'ok', c[1], ARGV[5], seq, at}
