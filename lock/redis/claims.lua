-- How claims are read, changed and written: key.lua comes before.

local taken, waiting, first = tonumber(got[2] or 0), tonumber(got[3] or 0), tonumber(got[4] or 0)

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
  return string.format('%d %d %d %d%s', c.need, c.limit, c.ends, c.fence, c.tokens)
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
  local till, said = kept()
  call('HSET', state, 'fence', digits(fence), 'taken', digits(taken), 'first', digits(first), 'kept', till)
  if waiting > 0 then
    call('HSET', state, 'waiting', digits(waiting))
  elseif got[3] then
    call('HDEL', state, 'waiting')
  end
  if c then call('HSET', state, 'o:' .. owner, text(c)) end
  if said then call('PEXPIRE', state, ARGV[1]) end
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
