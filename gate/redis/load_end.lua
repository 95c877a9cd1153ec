-- Ends a load, whether it went well or not, and opens the sale again. What was
-- laid down and is not the picture is dropped.
--
-- KEYS, ARGV[1..5] as in load.lua
--
-- Answers ok when what was loaded is the picture and nobody loads another one;
-- if that was so before, the answer got lost. Else stale.

local mine, switched = laid(), call('HGET', control, 'epoch') == ARGV[1]
if mine then
  if not switched then call('UNLINK', holders, keys, journal, moves) end
  call('DEL', loading)
  tell()
end
if not switched or call('EXISTS', loading) == 1 then return {'stale', '0'} end
return {'ok', ARGV[1], '0', '0', '0'}
