-- Lets in as many of a key's parked jobs as its limit has room for.
--   KEYS[1]  the keys with parked jobs, and how many of each may be at work
--   ARGV     prefix, key id
-- Answers how many have been let in.

local prefix, key_id = ARGV[1], ARGV[2]
local limit = tonumber(redis.call('HGET', KEYS[1], key_id) or 0)
local parked = turn_key(prefix, 'parked', key_id)
local room = limit - count_running(prefix, key_id)
local released = 0
while released < room do
  local member = redis.call('ZPOPMIN', parked)[1]
  if not member then break end
  local queue, job_id, priority, weight = string.match(member, '^(%S+) (%S+) (%S+) (%S+)$')
  -- One that was cancelled, or let in by BullMQ, is not there any more.
  if redis.call('ZREM', queue_key(prefix, queue, 'delayed'), job_id) == 1 then
    add_running(prefix, queue, job_id, key_id)
    give_turn(prefix, queue, job_id, key_id, tonumber(priority), tonumber(weight))
    redis.call('ZADD', queue_key(prefix, queue, 'marker'), 0, '0')
    redis.call('XADD', queue_key(prefix, queue, 'events'), '*', 'event', 'waiting', 'jobId', job_id, 'prev', 'delayed')
    released = released + 1
  end
end
if redis.call('ZCARD', parked) == 0 then redis.call('HDEL', KEYS[1], key_id) end
return released
