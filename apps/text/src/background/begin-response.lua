-- Lets one worker begin a background response, once: from then on a provider may have been called.
--
-- KEYS[1]  the response (hash)
--
-- Returns 1, or 0 where it has begun before, has ended or is not there.
if redis.call('HGET', KEYS[1], 'status') ~= 'queued' then
  return 0
end
redis.call('HSET', KEYS[1], 'status', 'in_progress')
return 1
