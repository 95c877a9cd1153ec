-- Takes a token away, and with the last one its claim.
--
-- KEYS, ARGV[1..5] as in key.lua

local mine = found()
if not mine or not carries(mine) then
  return refuse(GONE)
end
local was = mine.fence > 0 and GRANTED or WAITING
local before, after = string.find(mine.tokens, ' ' .. token .. ' ', 1, true)
mine.tokens = string.sub(mine.tokens, 1, before) .. string.sub(mine.tokens, after + 1)
if mine.tokens == ' ' then
  gone(owner, mine)
  serve()
  save()
else
  save(mine)
end
return {was, mine.fence, 0, 0}
