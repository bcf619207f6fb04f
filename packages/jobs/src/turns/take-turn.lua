-- Gives a job that has just been added its turn, or parks it while its key has as many at work as it may.
--   KEYS[1]  the reserved slots
--   ARGV     prefix, queue, job id, key id, priority, weight, how many of the key's may be at work (0: no limit), slot id, now in ms

local prefix, queue, job_id, key_id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local priority, weight, limit, now_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[9])

redis.call('ZREM', KEYS[1], ARGV[8])
local score = redis.call('ZSCORE', queue_key(prefix, queue, 'prioritized'), job_id)
-- Added before: it has its turn, or had it.
if not score or tonumber(score) >= BEGIN then return 0 end

if limit > 0 then
  local parked = turn_key(prefix, 'parked', key_id)
  if redis.call('ZCARD', parked) > 0 or count_running(prefix, key_id) >= limit then
    redis.call('ZREM', queue_key(prefix, queue, 'prioritized'), job_id)
    -- Were it forgotten here, BullMQ would let it in after a day.
    redis.call('ZADD', queue_key(prefix, queue, 'delayed'), exact((now_ms + DAY_MS) * DELAYED_UNIT), job_id)
    local time = redis.call('TIME')
    redis.call('ZADD', parked, time[1] * 1000000 + time[2], table.concat({ queue, job_id, priority, weight }, ' '))
    redis.call('HSET', turn_key(prefix, 'parked-keys'), key_id, limit)
    return 0
  end
  add_running(prefix, queue, job_id, key_id)
end
give_turn(prefix, queue, job_id, key_id, priority, weight)
return 1
