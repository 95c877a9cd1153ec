-- What every script begins with.
--
-- KEYS[1] control: one hash per shard of a sale
--           epoch version opens closes hold frozen ended per_user ack shards   the rules
--           before             the epoch of the picture before this one, '' for none
--           run                the run id of the server that the picture was loaded into
--           seq                grows with every change
--           grants             grows with every grant
--           waiting            claims in the journal
--           moves              grows when units leave for another shard, or come
--           free:ITEM          units that nobody has
--           unsettled:ITEM     units of the claims in the journal
-- KEYS[2] loading: exists while somebody loads the sale; "EPOCH TOKEN CHUNKS", with an expiry: see load.lua
-- KEYS[3] holders of the epoch: a hash.
--           With a limit:    user -> records "SLOT ID QUANTITY ITEM TAG" with ';' between
--           Without a limit: claim id -> "QUANTITY ITEM TAG"
--           TAG names the entry of the journal that the claim came with, '-' for none
-- KEYS[4] keys of the epoch: a hash, idempotency key -> claim id
-- KEYS[5] journal of the epoch: a hash, tag -> entry: see journal.lua
-- KEYS[6] moves of the epoch: a hash of units between two shards
--           out:TOKEN -> "ITEM UNITS TO_SHARD MS" until they have arrived there
--           in:TOKEN  -> MS when they came here
-- ARGV[1] the epoch that the names of the keys are made of
-- ARGV[2] the channel for news of sales
-- ARGV[3] the sale, as the news name it
--
-- Every script answers with a list whose first element says how it went:
--   none                     there is no picture of the sale
--   loading                  somebody loads it at this moment
--   epoch EPOCH SHARDS LIMIT the picture has another epoch: ask again with that
--   stale EPOCH              the change was made from an older picture, or an older load
--   ok EPOCH VERSION SEQ MS  done; what follows is said by each script
-- Whatever is refused is refused before the first write; and the first write of
-- a script is one that a full memory refuses, except where units are given back.

local call = redis.call
local control, loading, holders, keys, journal, moves = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

-- unusable returns why the picture cannot be used, or nothing.
local function unusable(epoch, shards)
  if call('EXISTS', loading) == 1 then return {'loading'} end
  if not epoch then return {'none'} end
  if epoch ~= ARGV[1] then return {'epoch', epoch, shards, call('HGET', control, 'per_user')} end
end

-- clock returns the moment in whole milliseconds, as a number and as digits.
local function clock()
  local t = call('TIME')
  local ms = t[1] * 1000 + math.floor(t[2] / 1000)
  return ms, string.format('%.0f', ms)
end

-- tell spreads the news that something about the sale has changed.
local function tell()
  call('PUBLISH', ARGV[2], ARGV[3])
end

-- digits writes a whole number below 2^53.
local function digits(n)
  return string.format('%.0f', n)
end
