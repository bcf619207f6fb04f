-- A job that waits for somebody outside gives its place among its key's jobs at work to the next one, or takes it again.
--   KEYS[1]  the jobs of the key that have stepped aside
--   ARGV     prefix, queue, job id, key id, most that may be aside (0: it takes its place again)
-- Answers 1; 0 where as many are aside as may be, and the job stays where it is.

local prefix, queue, job_id, key_id, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local member = queue .. ' ' .. job_id
if most == 0 then
  if redis.call('SREM', KEYS[1], member) == 1 then add_running(prefix, queue, job_id, key_id) end
  return 1
end
if redis.call('SISMEMBER', KEYS[1], member) == 0 and count_unended(prefix, KEYS[1]) >= most then return 0 end
redis.call('SREM', turn_key(prefix, 'running', key_id), member)
redis.call('SADD', KEYS[1], member)
redis.call('EXPIRE', KEYS[1], 2 * DAY_S)
return 1
