-- Takes a key for an attempt, if it is free.
--
-- KEYS[1] the record, see record.go
-- ARGV[1] the owner of the attempt
-- ARGV[2] the lease, in milliseconds
-- ARGV[3] for how long after it an attempt is remembered, in milliseconds
-- ARGV[4] the fingerprint of the request, - for none
-- ARGV[5] '1' when the caller waits for the end if the key is taken
--
-- Answers a text: the record itself, if there is a result (the caller compares
-- the fingerprint); m TOKEN NUMBER: the key is the owner's; b TOKEN NUMBER LEFT:
-- somebody has it for so many milliseconds; u TOKEN NUMBER: it was taken for a
-- request with another fingerprint.

local r = redis.call('GET', KEYS[1])
local kind = r and string.byte(r)
if kind == 100 or kind == 102 then return r end -- d or f
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local token, number = now, 1
if r then
  local last, count, print, owner, at = string.match(r, '^%S (%d+) (%d+) (%S+) (%x+)()')
  if kind == 114 then -- r
    if owner == ARGV[1] then return 'm ' .. last .. ' ' .. count end
    if print ~= ARGV[4] then return 'u ' .. last .. ' ' .. count end
    local ends, waits = string.match(r, '^ (%d+) (%d)', at)
    local left = ends - now
    if left > 0 then
      if ARGV[5] == '1' and waits == '0' then
        redis.call('SET', KEYS[1], string.sub(r, 1, -2) .. '1', 'KEEPTTL')
      end
      return string.format('b %s %s %.0f', last, count, math.ceil(left / 1000))
    end
  end
  token, number = math.max(now, last + 1), count + 1
end
local head = string.format('%.0f %d ', token, number)
redis.call('SET', KEYS[1], string.format('r %s%s %s %.0f 0', head, ARGV[4], ARGV[1], now + ARGV[2] * 1000), 'PX', ARGV[2] + ARGV[3])
return 'm ' .. head
