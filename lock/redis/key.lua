-- What every script of a lock begins with.
--
-- KEYS[1] who has the key alone, which is the usual case, as a string that
--   expires with the lease: 'OWNER TOKEN NEED LIMIT FENCE'. While there are more
--   claims, or tokens, it is 'shared', and they are in the next:
-- KEYS[2] the claims, a hash:
--   taken    the permits that are held
--   waiting  how many are in the line
--   first    a time at or before which no claim's lease ends
--   ticket   the place of the latest in the line
--   o:OWNER  a claim: 'NEED LIMIT ENDS FENCE TOKEN TOKEN… ', FENCE 0 while it waits
-- KEYS[3] the line, a sorted set: owners who wait, by ticket
-- KEYS[4] the fence of the latest grant
--
-- ARGV[1] how long a fence is remembered, and claims at most without a sign of
--   life, in ms; more than the longest lease
-- ARGV[2] what begins the channels on which nodes hear of grants
-- ARGV[3] the owner
-- ARGV[4] the token, 'NODE.NUMBER'
-- ARGV[5] the lease, in ms
--
-- Times are in µs, by this server's clock. All numbers are below 2^53.
--
-- Answers {state, fence, left, ahead}: see lock.Answer and the numbers below.

local GRANTED, WAITING, TAKEN, FULL, DENIED, GONE = 1, 2, 3, 4, 5, 6

local call, alone, claims, line, counter = redis.call, KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local memory, owner, token = ARGV[1], ARGV[3], ARGV[4]

-- digits writes a whole number. (%d, and no number is given to a command: what
-- writes doubles takes several times as long as the command.)
local function digits(n) return string.format('%d', n) end

local function clock()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

-- grown returns the next fence. A counter that was forgotten goes on at the
-- server's time, which is more than it ever was: there is less than one grant
-- in a microsecond.
local function grown()
  local fence = call('INCR', counter)
  if fence < 1000000000000000 then
    fence = math.max(fence, clock())
    call('SET', counter, digits(fence), 'PX', memory)
  end
  return fence
end

-- latest returns the fence of the latest grant or, if that was forgotten, the
-- server's time, above which the next one will be.
local function latest() return tonumber(call('GET', counter) or clock()) end
