-- One process reports the slots of an account that it holds, and asks for those that it needs.
--
-- KEYS[1] hash: holder -> "slots waiting expiresAtMs"
-- ARGV    holder, held, needed, spare, limit, waiting (0 or 1), ttlMs
-- Returns {slots that it holds now, other holders, how many of them wait}
--
-- It never loses what it holds: its requests are in flight. Beyond what it needs it gets at most `spare`, and never more
-- than its part of what is free. While requests of others wait, nobody gets anything to spare, nor more than an equal part
-- of the limit. A holder that has not reported for `ttlMs` has lost all.
local holder, held, needed = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local spare, limit, waiting, ttl = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local taken, others, waiters = 0, 0, 0
local entries = redis.call('HGETALL', KEYS[1])
for index = 1, #entries, 2 do
  if entries[index] ~= holder then
    local slots, waits, expires = string.match(entries[index + 1], '^(%d+) (%d) (%d+)$')
    if tonumber(expires) <= now then
      redis.call('HDEL', KEYS[1], entries[index])
    else
      taken = taken + slots
      others = others + 1
      waiters = waiters + waits
    end
  end
end

local free = limit - taken
local wanted = needed
if waiters > 0 then
  wanted = math.min(needed, math.ceil(limit / (others + 1)))
elseif free > needed then
  wanted = needed + math.min(spare, math.floor((free - needed) / (others + 2)))
end
local granted = math.max(held, math.min(wanted, free), 0)
if granted == 0 and waiting == '0' then
  redis.call('HDEL', KEYS[1], holder)
else
  redis.call('HSET', KEYS[1], holder, string.format('%d %s %d', granted, waiting, now + ttl))
  redis.call('PEXPIRE', KEYS[1], ttl * 2)
end
return { granted, others, waiters }
