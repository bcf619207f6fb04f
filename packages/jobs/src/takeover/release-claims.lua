-- Takes the claims on its jobs from a worker that is gone, so that the next check gives them to others.
--   KEYS[1]  BullMQ's set of jobs that may have stalled
--   KEYS[2]  BullMQ's mark of the last check
--   ARGV     prefix of the queue's jobs, name of the worker, job ids

local released = 0
for index = 3, #ARGV do
  local job = ARGV[1] .. ARGV[index]
  -- Another may have it by now.
  if redis.call('HGET', job, 'pb') == ARGV[2] then
    redis.call('DEL', job .. ':lock')
    redis.call('SADD', KEYS[1], ARGV[index])
    released = released + 1
  end
end
if released > 0 then redis.call('DEL', KEYS[2]) end
return released
