-- Lets a request in when every rate has room for it and every owner has a free place, all or nothing, in one step.
--
-- KEYS[i]  what check i counts on: a rate's time (string) or an owner's running requests (sorted set, score: lease end in ms)
-- ARGV[1]  the time in microseconds, empty for Redis' own, ARGV[2]  request id, ARGV[3]  lease in ms
-- ARGV[4 + 2(i - 1)]  check i: "rate" or "places", ARGV[5 + 2(i - 1)]  its limit
--
-- Returns {0, remaining of each check...}, or {i, wait in ms, remaining} for the first check i that does not pass.
local WINDOW_US = 60000000
local TAT_TTL_MS = 120000

local now_us = clock(ARGV[1])
local now_ms = math.floor(now_us / 1000)
local lease_ms = amount(ARGV[3], 'lease')
local tats, remaining = {}, {}

for i = 1, #KEYS do
  local kind, limit = ARGV[2 + 2 * i], amount(ARGV[3 + 2 * i], 'limit')
  if kind == 'rate' then
    -- GCRA, as in reserve.lua: `tat` is when the bucket will be full again.
    local interval_us = WINDOW_US / limit
    local tat = math.min(math.max(full_at(KEYS[i]), now_us), now_us + WINDOW_US)
    local left = (WINDOW_US - (tat - now_us)) / interval_us
    if left + 0.0001 < 1 then return { i, math.ceil((1 - left) * interval_us / 1000), 0 } end
    tats[i] = tat + interval_us
    remaining[i] = math.floor(left - 1 + 0.0001)
  else
    local running = redis.call('ZCOUNT', KEYS[i], '(' .. string.format('%.0f', now_ms), '+inf')
    if running >= limit then return { i, -1, 0 } end
    remaining[i] = limit - running - 1
  end
end

for i = 1, #KEYS do
  if tats[i] then
    redis.call('SET', KEYS[i], string.format('%.0f', tats[i]), 'PX', TAT_TTL_MS)
  else
    redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now_ms)
    redis.call('ZADD', KEYS[i], now_ms + lease_ms, ARGV[2])
    redis.call('PEXPIRE', KEYS[i], lease_ms)
  end
end
return { 0, unpack(remaining) }
