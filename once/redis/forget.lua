-- Removes a record, and tells those who wait.
--
-- KEYS[1] the record
-- ARGV[1] the channel where ends are told
-- ARGV[2] the key, as callers name it
--
-- Answers how many records there were, 1 or 0.

local known = redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return known
