-- Reserves what a request may consume at most, all of it or nothing, in one step.
--
-- KEYS[1]  the reservation (hash), KEYS[2]  the open reservations (sorted set, score: lease end in ms)
-- KEYS[2 + i]  what charge i counts on: a rate's time (string) or a budget's account (hash)
-- ARGV[1]  the time in microseconds, empty for Redis' own
-- ARGV[2]  reservation id, ARGV[3]  lease in ms, ARGV[4]  subject and estimate (JSON)
-- ARGV[4 + 4(i - 1) + 1..4]  charge i: "rate" or "budget", dimension, limit, amount
--
-- Returns {0, remaining of each charge...}, or {i, wait in ms, remaining} for the first charge i that does not fit.
-- The wait is -1 where waiting does not help. A reservation that exists already is left as it is: {-1}.
local WINDOW_US = 60000000
local ACCOUNT_TTL_S = 100 * 86400
local TAT_TTL_MS = 120000

if redis.call('EXISTS', KEYS[1]) == 1 then return { -1 } end
-- Ends the script here if this is no sorted set.
redis.call('ZSCORE', KEYS[2], ARGV[2])

local now_us = clock(ARGV[1])
local lease_ms = amount(ARGV[3], 'lease')
local charges, writes, remaining = {}, {}, {}

for i = 1, #KEYS - 2 do
  local base = 4 + 4 * (i - 1)
  local kind, dimension = ARGV[base + 1], ARGV[base + 2]
  local limit, taken = amount(ARGV[base + 3], 'limit'), amount(ARGV[base + 4], dimension)
  local key = KEYS[2 + i]
  if kind == 'rate' then
    -- GCRA: `tat` is when the bucket will be full again. A clock that jumped back must not block longer than a window.
    local interval_us = WINDOW_US / limit
    local tat = full_at(key)
    if tat < now_us then tat = now_us end
    if tat > now_us + WINDOW_US then tat = now_us + WINDOW_US end
    local left = (WINDOW_US - (tat - now_us)) / interval_us
    -- The tolerance forgives what the division above rounded off; it is far below one unit.
    if taken > left + 0.0001 then
      local wait = -1
      if taken <= limit then wait = math.ceil((taken - left) * interval_us / 1000) end
      return { i, wait, math.max(0, math.floor(left + 0.0001)) }
    end
    writes[i] = { kind, key, tat + taken * interval_us }
    remaining[i] = math.max(0, math.floor(left - taken + 0.0001))
  else
    local account = redis.call('HMGET', key, 'spent', 'reserved')
    local left = limit - counter(account[1], 'spent') - counter(account[2], 'reserved')
    if taken > left then return { i, -1, math.max(0, left) } end
    writes[i] = { kind, key, taken }
    remaining[i] = left - taken
  end
  charges[i] = { kind, dimension, key, limit, taken }
end

for _, write in ipairs(writes) do
  if write[1] == 'rate' then
    redis.call('SET', write[2], string.format('%.0f', write[3]), 'PX', TAT_TTL_MS)
  else
    redis.call('HINCRBY', write[2], 'reserved', write[3])
    redis.call('EXPIRE', write[2], ACCOUNT_TTL_S)
  end
end
redis.call('HSET', KEYS[1], 'about', ARGV[4], 'charges', #charges > 0 and cjson.encode(charges) or '[]')
redis.call('ZADD', KEYS[2], math.floor(now_us / 1000) + lease_ms, ARGV[2])
return { 0, unpack(remaining) }
