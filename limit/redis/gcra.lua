-- A bucket. The key holds the time at which the bucket will be full, in
-- microseconds since 1970, and, behind a space, what is beyond it in fractions
-- 1/a of a microsecond, if anything is. No key: it is full.
--
-- ARGV[at …] of a take: the cost of n units, as microseconds and fractions; how
--   long an empty bucket fills, in the same way; a
-- ARGV[at …] of a give-back: the same, and the time of the take and a number that is not needed
--
-- Stands as: the time, its fraction, 0

local function bucket_read(key, now)
  local value = redis.call('GET', key)
  if not value then return now, 0 end
  local us, frac = tonumber(value), 0
  if not us then
    us, frac = string.match(value, '^(%d+) (%d+)$')
    us, frac = tonumber(us), tonumber(frac)
  end
  if us < now then return now, 0 end
  return us, frac
end

local function bucket_write(key, now, us, frac)
  local value = us
  if frac > 0 then value = string.format('%.0f %.0f', us, frac) end
  redis.call('SET', key, value, 'PX', life(math.max(us - now, 0) + 1))
end

kinds.g = {
  look = function(key, at, now)
    local cost, costfrac = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    local full, fullfrac, a = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    local us, frac = bucket_read(key, now)
    -- The clock went back, or the policy was changed: no bucket is emptier than
    -- empty. It is written down at once, or it would stay so until the clock is
    -- again where it was.
    if us - now > full or us - now == full and frac > fullfrac then
      us, frac = now + full, fullfrac
      bucket_write(key, now, us, frac)
    elseif frac >= a then
      us, frac = us + 1, 0
    end
    local nextus, nextfrac = us + cost, frac + costfrac
    if nextfrac >= a then nextus, nextfrac = nextus + 1, nextfrac - a end
    local granted = nextus - now < full or nextus - now == full and nextfrac <= fullfrac
    return granted, us, frac, 0
  end,

  take = function(key, at, now, us, frac)
    us, frac = us + tonumber(ARGV[at]), frac + tonumber(ARGV[at + 1])
    local a = tonumber(ARGV[at + 4])
    if frac >= a then us, frac = us + 1, frac - a end
    bucket_write(key, now, us, frac)
    return us, frac, 0
  end,

  -- Units lose what has flowed in since they were taken.
  give = function(key, at, now, us, frac)
    local worth, worthfrac = tonumber(ARGV[at]) - (now - tonumber(ARGV[at + 5])), tonumber(ARGV[at + 1])
    if worth < 0 or us == now and frac == 0 then return us, frac, 0 end
    us, frac = us - worth, frac - worthfrac
    if frac < 0 then us, frac = us - 1, frac + tonumber(ARGV[at + 4]) end
    bucket_write(key, now, us, frac)
    if us < now then us, frac = now, 0 end
    return us, frac, 0
  end,

  args = 5,
}
