-- Runs one command for each member of a set, in one step.
--
-- KEYS[1] the set, the hash, or the segment of a bitmap
-- ARGV[1] the command: SADD, SREM, SISMEMBER, HDEL, HEXISTS, SETBIT or GETBIT
-- ARGV[2] what follows the member, '' for nothing
-- ARGV[3] for how long the key is kept from now on, in milliseconds; 0: as it was
-- ARGV[4…] the members
--
-- Answers a text with a digit for each member: what the command returned.

local out = {}
for i = 4, #ARGV do
  if ARGV[2] == '' then
    out[i - 3] = redis.call(ARGV[1], KEYS[1], ARGV[i])
  else
    out[i - 3] = redis.call(ARGV[1], KEYS[1], ARGV[i], ARGV[2])
  end
end
if ARGV[3] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return table.concat(out)
