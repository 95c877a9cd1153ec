-- Reads control.
--
-- KEYS, ARGV[1..3] as in control.lua
--
-- Answers none (loading when somebody loads the first picture), or ok …, then all fields of control and
-- their values. A load that is under way hides nothing.

local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq')
if not c[1] then return {call('EXISTS', loading) == 1 and 'loading' or 'none'} end
if c[1] ~= ARGV[1] then return {'epoch', c[1], c[2], call('HGET', control, 'per_user')} end
local _, at = clock()
local answer = {'ok', c[1], c[3], c[4], at}
for _, v in ipairs(call('HGETALL', control)) do answer[#answer + 1] = v end
return answer
