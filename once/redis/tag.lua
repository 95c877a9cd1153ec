-- Puts members into a hash, each with the tag of the call.
--
-- KEYS[1] the hash
-- ARGV[1] the tag, '' for none
-- ARGV[2] for how long the hash is kept from now on, in milliseconds; 0: as it was
-- ARGV[3…] the members
--
-- Answers a text with a digit for each member: 1 when this call put it there, or
-- one with the same tag.

local out = {}
for i = 3, #ARGV do
  local new = redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[1])
  if new == 0 and ARGV[1] ~= '' and redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then new = 1 end
  out[i - 2] = new
end
if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return table.concat(out)
