-- Keeps a slot of a queue for a job that is still being read.
--   KEYS[1]  the reserved slots: ids by the Unix milliseconds until which they stand
--   ARGV     prefix, queue, slot id (ends with its key's), key id, priority, weight, most that may wait, now in milliseconds, how long the slot stands
-- Answers {1}, or {0, jobs waiting, of this key, milliseconds between two ends (-1: not known)}.

local prefix, queue, slot_id, key_id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local priority, weight, max_waiting = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local now_ms, lease_ms = tonumber(ARGV[8]), tonumber(ARGV[9])

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', exact(now_ms))
local waiting = count_waiting(prefix, queue) + redis.call('ZCARD', KEYS[1])

local own = redis.call('ZCARD', turn_key(prefix, 'parked', key_id))
local suffix = ' ' .. key_id
for _, slot in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.sub(slot, -#suffix) == suffix then own = own + 1 end
end
-- A key's jobs that wait in turn are those between the next turn and the end of its own last one.
local head = next_start(prefix, queue, priority)
if head then
  local finish = tonumber(redis.call('GET', finish_key(prefix, queue, priority, key_id)) or 0)
  own = own + math.max(0, math.ceil((finish - head) / step_of(weight)))
end

-- Not all that is free, so that others find room beside a key with much to do.
local free = max_waiting - waiting
if free >= 1 and own < 4 * free then
  redis.call('ZADD', KEYS[1], exact(now_ms + lease_ms), slot_id)
  return { 1 }
end
return { 0, waiting, own, math.ceil(end_interval_ms(prefix, queue, now_ms) or -1) }
