-- Decides about one key for each rule, all or none, in one step.
--
-- Before it stand time.lua, `local kinds = {}`, and the file of each kind that
-- the rules have, which says what else it is given.
--
-- KEYS[i]  the key of rule i; in a cluster, all of one slot
-- ARGV[1]  take, look, or give (back what was taken)
-- ARGV[2]  the kinds of the rules, a letter each
-- ARGV[3…] for each rule what its kind is given; to give back, two more: the
--          time of the take and the first number of how the key stood then
--
-- Answers the time in microseconds since 1970, and for each rule 1 if it grants
-- (else 0) and how the key stands then, in three numbers.

local action, letters, now = ARGV[1], ARGV[2], clock()
local answer, all, at, from = {now}, true, 3, {}

for i, key in ipairs(KEYS) do
  local kind = kinds[string.sub(letters, i, i)]
  local granted, x, y, z = kind.look(key, at, now)
  local j = 4 * i
  answer[j - 2], answer[j - 1], answer[j], answer[j + 1] = granted and 1 or 0, x, y, z
  all, from[i] = all and granted, at
  at = at + kind.args
  if action == 'give' then at = at + 2 end
end

if action == 'look' or action == 'take' and not all then return answer end

for i, key in ipairs(KEYS) do
  local kind, j = kinds[string.sub(letters, i, i)], 4 * i
  local act = kind.take
  if action == 'give' then
    act = kind.give
    -- A take from the future is from before the clock went back: what it is
    -- worth is unknown, and it stays taken.
    if tonumber(ARGV[from[i] + kind.args]) > now then act = nil end
  end
  if ARGV[from[i]] == '0' and kind ~= kinds.g then act = nil end -- of nothing
  if act then
    answer[j - 1], answer[j], answer[j + 1] = act(key, from[i], now, answer[j - 1], answer[j], answer[j + 1])
  end
end
return answer
