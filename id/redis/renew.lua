-- Extends the window of a number that the owner has.
-- KEYS, ARGV and answers as in lease.lua.

local refused = unfit()
if refused then return refused end

local from, till, has = record(redis.call('HGET', register, ARGV[8]))
if has ~= owner then return refuse('lost') end
distrust()
return grant(tonumber(ARGV[8]), from, till)
