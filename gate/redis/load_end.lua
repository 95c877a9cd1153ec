-- Opens the sale again, after a load or after one that failed.
--
-- KEYS, ARGV[1..5] as in load.lua
-- ARGV[6] 'loaded', or 'failed' to drop what was put beside the present picture
--
-- Answers ok, or stale when what was loaded is not the picture, or somebody else
-- loads the sale by now. If nobody does, the answer got lost.

local mine, switched = laid(), call('HGET', control, 'epoch') == ARGV[1]
if ARGV[6] == 'loaded' and (not switched or not mine and call('EXISTS', loading) == 1) then return {'stale', '0'} end
if mine then
  if not switched then call('UNLINK', holders, keys, journal, moves) end
  call('DEL', loading)
  tell()
end
return {'ok', ARGV[1], '0', '0', '0'}
