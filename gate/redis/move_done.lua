-- Forgets moves: those of which the units have arrived, on the shard that they
-- left; and arrivals that are over for so long that nobody repeats them.
--
-- KEYS, ARGV[1..3] as in control.lua
-- ARGV[4…] fields of moves
--
-- Answers ok ….

local c = call('HMGET', control, 'epoch', 'shards', 'version', 'seq')
local refused = unusable(c[1], c[2])
if refused then return refused end
local _, at = clock()
call('HDEL', moves, unpack(ARGV, 4))
return {'ok', c[1], c[3], c[4], at}
