-- wrk's part: one claim of a different user in every request.
-- Arguments: "seq" or "random", a number that no other run has (hex, 6 digits),
-- the path, and the item.
-- A name is 17 characters: in order, or begun by an xorshift generator, whose
-- period of 2^32-1 keeps it from coming twice.
local threads = 0

function setup(thread)
  thread:set("thread_id", threads)
  threads = threads + 1
end

local head, tail, random, suffix
local counter = 0
local state = 0

function init(args)
  random = args[1] == "random"
  suffix = string.format("%s%02x", args[2], thread_id)
  tail = '","item":"' .. args[4] .. '"}'
  local length = #'{"user":"' + 17 + #tail
  head = "POST " .. args[3] .. " HTTP/1.1\r\nHost: " .. wrk.host ..
    "\r\nContent-Type: application/json\r\nContent-Length: " .. length .. '\r\n\r\n{"user":"u'
  state = 2463534242
end

function request()
  if random then
    state = bit.bxor(state, bit.lshift(state, 13))
    state = bit.bxor(state, bit.rshift(state, 17))
    state = bit.bxor(state, bit.lshift(state, 5))
    return head .. bit.tohex(state) .. suffix .. tail
  end
  counter = counter + 1
  return head .. suffix .. bit.tohex(counter) .. tail
end

function done(summary, latency, requests)
  io.write(string.format(
    'RESULT {"micros":%d,"requests":%d,"refused":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,"p50":%d,"p99":%d}\n',
    summary.duration, summary.requests, summary.errors.status, summary.errors.connect, summary.errors.read,
    summary.errors.write, summary.errors.timeout, latency:percentile(50), latency:percentile(99)))
end
