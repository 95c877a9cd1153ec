-- What acquire.lua and renew.lua begin with. The rule is that of id.Register.
--
-- KEYS[1]  the register of a name, a hash:
--            layout   of those who use the numbers
--            server   the Redis that has written last: its run, and how it became a master
--            floor    no window begins before (Unix ms)
--            <number> "from until owner": the owner's window, or the end of the
--                     last one, and no owner
-- ARGV[1]  the owner
-- ARGV[2]  the layout
-- ARGV[3]  how many numbers there are
-- ARGV[4]  how far the window is to reach from now, in ms
-- ARGV[5]  the clock of the node (Unix ms); it decides about refusal alone
-- ARGV[6]  by how much it may differ from ours, in ms
-- ARGV[7]  how long after now windows begin in a Redis that may have forgotten, in ms
-- ARGV[8]  the number (renew.lua)
--
-- Answers {'ok', number, from, until, now}, or {'clock' | 'layout' | 'none' |
-- 'lost', now, layout}. Times are below 2^53, so that numbers of Lua hold them.

local register, owner, layout = KEYS[1], ARGV[1], ARGV[2]
local numbers, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

local function digits(n) return string.format('%.0f', n) end

local function record(text)
  if not text then return 0, 0, '' end
  local from, till, has = string.match(text, '^(%d+) (%d+) (%w*)$')
  return tonumber(from), tonumber(till), has
end

local known = redis.call('HMGET', register, 'layout', 'server', 'floor')
local floor = tonumber(known[3] or '0')

local function refuse(why) return {why, digits(now), known[1] or ''} end

-- A replica that becomes a master writes down whom it followed, and how far. (Its
-- master_replid changes also when a first replica comes, and nothing is forgotten.)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local before, offset = string.match(redis.call('INFO', 'replication'), 'master_replid2:(%w+)%s+.*second_repl_offset:(%-?%d+)')

local function unfit()
  if not run or not before then return redis.error_reply('ERR INFO does not tell run_id, master_replid2 and second_repl_offset') end
  if math.abs(ARGV[5] - now) > tonumber(ARGV[6]) then return refuse('clock') end
  if known[1] and known[1] ~= layout then return refuse('layout') end
end

-- A Redis that is empty, or another one than wrote here last, may have forgotten
-- windows: after FLUSHALL, a restart, a failover. None of them ends later than a
-- lease after that.
local function distrust()
  local server = run .. ' ' .. before .. ' ' .. offset
  if known[2] == server then return end
  floor = math.max(floor, now + ARGV[7])
  redis.call('HSET', register, 'layout', layout, 'server', server, 'floor', digits(floor))
end

local function grant(number, from, till)
  from = math.max(from, floor)
  till = math.max(till, math.max(now, from) + ttl)
  redis.call('HSET', register, digits(number), digits(from) .. ' ' .. digits(till) .. ' ' .. owner)
  return {'ok', number, digits(from), digits(till), digits(now)}
end
