-- What the scripts of a lock have in common: this part comes before each.
--
-- KEYS[1] the state of the key, a hash:
--   fence    the fence of the latest grant
--   taken    the permits that are held
--   waiting  how many are in the line
--   first    a time at or before which no claim's lease ends
--   ticket   the place of the latest in the line
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

local got = call('HMGET', state, 'fence', 'taken', 'waiting', 'first', 'o:' .. owner)
local fence, taken = tonumber(got[1] or 0), tonumber(got[2] or 0)
local waiting, first = tonumber(got[3] or 0), tonumber(got[4] or 0)

local function digits(n) return string.format('%.0f', n) end

-- grown returns the next fence. Time is its floor: it goes on growing after the
-- state was forgotten, unless the clock has gone back by more than the time since.
local function grown()
  fence = math.max(fence + 1, now)
  return fence
end

-- Claims are read, changed and written by these.
local function read(entry)
  local need, limit, ends, granted, tokens = string.match(entry, '^(%d+) (%d+) (%d+) (%d+)( .*)$')
  return {need = tonumber(need), limit = tonumber(limit), ends = tonumber(ends), fence = tonumber(granted), tokens = tokens}
end

local function text(c)
  return digits(c.need) .. ' ' .. digits(c.limit) .. ' ' .. digits(c.ends) .. ' ' .. digits(c.fence) .. c.tokens
end

local function prolong(c)
  c.ends = math.max(c.ends, now + lease)
end

-- gone takes a claim out, whether it waits or is held.
local function gone(who, c)
  call('HDEL', state, 'o:' .. who)
  if c.fence > 0 then
    taken = taken - c.need
  else
    call('ZREM', line, who)
    waiting = waiting - 1
  end
end

-- serve grants those at the head of the line, until one does not fit, and tells
-- them, each on the channel of its node.
local function serve()
  while waiting > 0 do
    local who = call('ZRANGE', line, 0, 0)[1]
    local c = read(call('HGET', state, 'o:' .. who))
    if taken + c.need > c.limit then return end
    call('ZREM', line, who)
    waiting, taken, c.fence = waiting - 1, taken + c.need, grown()
    call('HSET', state, 'o:' .. who, text(c))
    for t in string.gmatch(c.tokens, '%S+') do
      call('PUBLISH', ARGV[2] .. string.match(t, '^[^.]+'), t .. ' ' .. digits(fence))
    end
  end
end

-- sweep ends the claims whose lease is over.
local function sweep()
  local all, left = call('HGETALL', state), 0
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 2) == 'o:' then
      local c = read(all[i + 1])
      if c.ends <= now then
        gone(string.sub(all[i], 3), c)
      elseif left == 0 or c.ends < left then
        left = c.ends
      end
    end
  end
  first = left
  serve()
end

-- save writes down what is said of the key as a whole, and a claim or none.
-- Where there is one claim, it is the first to end.
local function save(c)
  if c and (first == 0 or c.ends < first or waiting == 0 and taken == c.need) then first = c.ends end
  if taken == 0 and waiting == 0 then
    call('HDEL', state, 'taken', 'waiting', 'first')
    if c == nil then return end
  end
  if c then
    call('HSET', state, 'fence', digits(fence), 'taken', digits(taken), 'waiting', digits(waiting), 'first', digits(first), 'o:' .. owner, text(c))
  else
    call('HSET', state, 'fence', digits(fence), 'taken', digits(taken), 'waiting', digits(waiting), 'first', digits(first))
  end
  call('PEXPIRE', state, ARGV[1])
  if waiting > 0 then call('PEXPIRE', line, ARGV[1]) end
end

-- found returns the caller's claim, once those are gone that are over.
local swept = false
local function found()
  if first > 0 and first <= now then
    swept = true
    sweep()
    got[5] = call('HGET', state, 'o:' .. owner)
  end
  return got[5] and read(got[5])
end

local function left() return first > now and first - now or 0 end

-- refuse answers without a claim of the caller's.
local function refuse(why)
  if swept then save() end
  return {why, 0, left(), 0}
end

local function carries(c) return string.find(c.tokens, ' ' .. token .. ' ', 1, true) end

local function standing(c)
  if c.fence > 0 then return {GRANTED, c.fence, left(), 0} end
  return {WAITING, fence, left(), call('ZRANK', line, owner)}
end
