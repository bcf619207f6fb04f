-- How many jobs are before a waiting one.
--   KEYS[1]  BullMQ's prioritized jobs
--   ARGV     prefix, queue, job id, key id, now in milliseconds
-- Answers {position from 1, milliseconds between two ends (-1: not known)}; nil for a job that does not wait.

local prefix, queue, job_id, key_id, now_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local interval_ms = math.ceil(end_interval_ms(prefix, queue, now_ms) or -1)
local waiting = queue_key(prefix, queue, 'wait')
local put_back = redis.call('LLEN', waiting)

local rank = redis.call('ZRANK', KEYS[1], job_id)
if rank then return { put_back + rank + 1, interval_ms } end

local index = redis.call('LPOS', waiting, job_id)
if index then return { put_back - index, interval_ms } end

-- Parked: behind its key's earlier ones and, by then, behind what waits now.
local in_turn = put_back + redis.call('ZCARD', KEYS[1])
for before, member in ipairs(redis.call('ZRANGE', turn_key(prefix, 'parked', key_id), 0, -1)) do
  if string.find(member, queue .. ' ' .. job_id .. ' ', 1, true) == 1 then return { in_turn + before, interval_ms } end
end
return nil
