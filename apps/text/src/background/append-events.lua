-- Appends events to the log of a background response that has not ended, and numbers them.
--
-- KEYS[1]  the response (hash), KEYS[2]  its log (stream); the event with number N has the id (N + 1)-0
-- ARGV[1]  the bytes that a log may have, ARGV[2]  seconds until a log that nobody ends is dropped
-- ARGV[3], ARGV[4], …  the type and the other members (JSON) of each event
--
-- Returns 1, or 0 where the response has ended or is not there: then nothing is appended. Beyond the bound the log is `full`.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'in_progress' then
  return 0
end
if redis.call('HGET', KEYS[1], 'full') then
  return 1
end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
local number = last[1] and tonumber(string.match(last[1][1], '^%d+')) or 0
local bytes = 0
for i = 3, #ARGV, 2 do
  bytes = bytes + #ARGV[i] + #ARGV[i + 1]
end
if redis.call('HINCRBY', KEYS[1], 'bytes', bytes) > tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'full', 1)
else
  for i = 3, #ARGV, 2 do
    number = number + 1
    redis.call('XADD', KEYS[2], number .. '-0', 'type', ARGV[i], 'rest', ARGV[i + 1])
  end
  redis.call('EXPIRE', KEYS[2], ARGV[2])
end
redis.call('PUBLISH', KEYS[2], '')
return 1
