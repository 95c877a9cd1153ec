-- Takes a key for an attempt, if it is free.
--
-- KEYS[1] the record, see record.go
-- ARGV[1] the owner of the attempt
-- ARGV[2] the lease, in milliseconds
-- ARGV[3] for how long after it an attempt is remembered, in milliseconds
-- ARGV[4] the fingerprint of the request, - for none
-- ARGV[5] '1' when the caller waits for the end if the key is taken
--
-- Answers {'mine', token, number}; {'busy', token, number, milliseconds left};
-- {'kept', record}; or {'reused', token, number}.

local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local token, number = now, 1
local r = redis.call('GET', KEYS[1])
if r then
  local phase, last, count, print, owner, at = string.match(r, '^(%S) (%d+) (%d+) (%S+) (%x+)()')
  if phase == 'r' and owner == ARGV[1] then return {'mine', last, count} end
  if phase ~= '-' and print ~= ARGV[4] then return {'reused', last, count} end
  if phase == 'd' or phase == 'f' then return {'kept', r} end
  if phase == 'r' then
    local ends, waits = string.match(r, '^ (%d+) (%d)', at)
    local left = ends - now
    if left > 0 then
      if ARGV[5] == '1' and waits == '0' then
        redis.call('SET', KEYS[1], string.sub(r, 1, -2) .. '1', 'KEEPTTL')
      end
      return {'busy', last, count, string.format('%.0f', math.ceil(left / 1000))}
    end
  end
  token, number = math.max(now, last + 1), count + 1
end
token = string.format('%.0f', token)
local ends = string.format('%.0f', now + ARGV[2] * 1000)
redis.call('SET', KEYS[1], table.concat({'r', token, number, ARGV[4], ARGV[1], ends, '0'}, ' '), 'PX', ARGV[2] + ARGV[3])
return {'mine', token, tostring(number)}
