-- What every script of a lock begins with.
--
-- KEYS[1] the state of the key, a hash:
--   fence    the fence of the latest grant
--   taken    the permits that are held
--   waiting  how many are in the line
--   first    a time at or before which no claim's lease ends
--   ticket   the place of the latest in the line
--   kept     until when the state is remembered, at least
--   o:OWNER  a claim: 'NEED LIMIT UNTIL FENCE TOKEN TOKEN… ', FENCE 0 while it waits
-- KEYS[2] the line, a sorted set: owners who wait, by ticket
--
-- ARGV[1] how long the state is remembered after the latest sign of life, in ms
-- ARGV[2] what begins the channels on which nodes hear of grants
-- ARGV[3] the owner
-- ARGV[4] the token, 'NODE.NUMBER'
-- ARGV[5] the lease, in µs
--
-- Times are in µs, by this server's clock. All numbers are below 2^53.
--
-- Answers {state, fence, left, ahead}: see lock.Answer and the numbers below.

local GRANTED, WAITING, TAKEN, FULL, DENIED, GONE = 1, 2, 3, 4, 5, 6

local call, state, line = redis.call, KEYS[1], KEYS[2]
local owner, token, lease = ARGV[3], ARGV[4], tonumber(ARGV[5])
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local got = call('HMGET', state, 'fence', 'taken', 'waiting', 'first', 'o:' .. owner, 'kept')
local fence = tonumber(got[1] or 0)

-- digits writes a whole number. (%d, and no number is given to a command: what
-- writes doubles takes several times as long as the command.)
local function digits(n) return string.format('%d', n) end

-- kept returns until when the state is remembered from now on, and whether that
-- must be said: at least half of the time that was asked for is left, which is
-- more than the longest lease, so that not every call needs to say so.
local function kept()
  local had, memory = tonumber(got[6] or 0), tonumber(ARGV[1]) * 1000
  if had < now + memory / 2 then return digits(now + memory), true end
  return got[6], false
end
