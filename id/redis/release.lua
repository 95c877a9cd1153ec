-- Gives a number back, if the owner has it.
--
-- KEYS[1]  the register: see lease.lua
-- ARGV[1]  the owner
-- ARGV[2]  the number
-- ARGV[3]  the end of what the owner has used of its window (Unix ms)
--
-- Answers 1 if the owner had it, else 0.

local text = redis.call('HGET', KEYS[1], ARGV[2])
local from, till, has = string.match(text or '', '^(%d+) (%d+) (%w*)$')
if not from or has ~= ARGV[1] then return 0 end
local used = math.min(math.max(tonumber(ARGV[3]), tonumber(from)), tonumber(till))
redis.call('HSET', KEYS[1], ARGV[2], string.format('%s %.0f ', from, used))
return 1
