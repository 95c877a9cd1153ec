-- Opens the sale again, after a load or after one that failed.
--
-- KEYS, ARGV[1..5] as in load_begin.lua
-- ARGV[6] 'failed' to drop what was put beside the present picture
--
-- Answers ok, or stale when somebody else loads the sale by now.

if call('GET', loading) ~= ARGV[1] .. ' ' .. ARGV[4] then return {'stale', '0'} end
if ARGV[6] == 'failed' and call('HGET', control, 'epoch') ~= ARGV[1] then
  call('UNLINK', holders, keys, journal, moves)
end
call('DEL', loading)
tell()
return {'ok', ARGV[1], '0', '0', '0'}
