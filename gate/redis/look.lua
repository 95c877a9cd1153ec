-- Reads control.
--
-- KEYS, ARGV[1..3] as in control.lua
--
-- Answers none, or ok …, then how many fields control has, all of them with their
-- values, and all fields of moves with theirs. A load that is under way hides
-- nothing: loading is the answer where it has yet to bring the picture that is
-- asked for, or the first one.

local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq')
if not c[1] then return {call('EXISTS', loading) == 1 and 'loading' or 'none'} end
if tonumber(c[1]) < tonumber(ARGV[1]) and call('EXISTS', loading) == 1 then return {'loading'} end
if c[1] ~= ARGV[1] then return {'epoch', c[1], c[2], call('HGET', control, 'per_user')} end
local _, at = clock()
local fields = call('HGETALL', control)
local answer = {'ok', c[1], c[3], c[4], at, digits(#fields / 2)}
for _, v in ipairs(fields) do answer[#answer + 1] = v end
for _, v in ipairs(call('HGETALL', moves)) do answer[#answer + 1] = v end
return answer
