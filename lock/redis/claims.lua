-- How claims are read, changed and written: key.lua comes before.

local lease, now = ARGV[5] * 1000, clock()

-- Whoever has the key alone becomes one of many, until the key is free again.
local single = call('GET', alone)
if single and single ~= 'shared' then
  local who, carried, need, limit, granted = string.match(single, '^(%S+) (%S+) (%d+) (%d+) (%d+)$')
  local ends = digits(now + call('PTTL', alone) * 1000)
  call('HSET', claims, 'taken', need, 'first', ends, 'o:' .. who, need .. ' ' .. limit .. ' ' .. ends .. ' ' .. granted .. ' ' .. carried .. ' ')
  call('PEXPIRE', claims, memory)
  call('SET', alone, 'shared', 'PX', memory)
end

local got = call('HMGET', claims, 'taken', 'waiting', 'first', 'o:' .. owner)
local taken, waiting, first = tonumber(got[1] or 0), tonumber(got[2] or 0), tonumber(got[3] or 0)

local function read(entry)
  local need, limit, ends, granted, tokens = string.match(entry, '^(%d+) (%d+) (%d+) (%d+)( .*)$')
  return {need = tonumber(need), limit = tonumber(limit), ends = tonumber(ends), fence = tonumber(granted), tokens = tokens}
end

local function text(c)
  return string.format('%d %d %d %d%s', c.need, c.limit, c.ends, c.fence, c.tokens)
end

local function prolong(c)
  c.ends = math.max(c.ends, now + lease)
end

-- gone takes a claim out, whether it waits or is held.
local function gone(who, c)
  call('HDEL', claims, 'o:' .. who)
  if c.fence > 0 then
    taken = taken - c.need
  else
    call('ZREM', line, who)
    waiting = waiting - 1
  end
end

-- serve grants those at the head of the line, until one does not fit, and tells
-- them, each on the channel of its node. A user who may not publish there does not
-- stop it half-way: who waits asks.
local function serve()
  while waiting > 0 do
    local who = call('ZRANGE', line, 0, 0)[1]
    local c = read(call('HGET', claims, 'o:' .. who))
    if taken + c.need > c.limit then return end
    call('ZREM', line, who)
    waiting, taken, c.fence = waiting - 1, taken + c.need, grown()
    call('HSET', claims, 'o:' .. who, text(c))
    for t in string.gmatch(c.tokens, '%S+') do
      redis.pcall('PUBLISH', ARGV[2] .. string.match(t, '^[^.]+'), t .. ' ' .. digits(c.fence))
    end
  end
end

-- sweep ends the claims whose lease is over.
local function sweep()
  local all, left = call('HGETALL', claims), 0
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
    call('DEL', alone, claims, line)
    return
  end
  call('HSET', claims, 'taken', digits(taken), 'waiting', digits(waiting), 'first', digits(first))
  if c then call('HSET', claims, 'o:' .. owner, text(c)) end
  call('SET', alone, 'shared', 'PX', memory)
  call('PEXPIRE', claims, memory)
  if waiting > 0 then call('PEXPIRE', line, memory) end
end

-- found returns the caller's claim, once those are gone that are over.
local swept = false
local function found()
  if first > 0 and first <= now then
    swept = true
    sweep()
    got[4] = call('HGET', claims, 'o:' .. owner)
  end
  return got[4] and read(got[4])
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
  return {WAITING, latest(), left(), call('ZRANK', line, owner)}
end
