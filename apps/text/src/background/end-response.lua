-- Ends a background response, once.
--
-- KEYS[1]  the response (hash), KEYS[2]  its log (stream, as in append-events.lua)
-- ARGV[1]  its final status, ARGV[2]  the whole response (JSON); empty: as it is; `kept`: it is elsewhere, ARGV[3]  how it ended (JSON)
-- ARGV[4]  seconds until the response is forgotten, ARGV[5]  seconds until its log is
-- ARGV[6], ARGV[7], …  the type and the other members (JSON) of each last event
--
-- Returns 1, or 0 where it has ended before or is not there.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'in_progress' then
  return 0
end
redis.call('HSET', KEYS[1], 'status', ARGV[1], 'ending', ARGV[3])
if ARGV[2] == 'kept' then
  redis.call('HDEL', KEYS[1], 'response')
elseif ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'response', ARGV[2])
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
local facts = redis.call('HMGET', KEYS[1], 'keepsEvents', 'full')
if facts[1] == '1' and not facts[2] then
  local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
  local number = last[1] and tonumber(string.match(last[1][1], '^%d+')) or 0
  for i = 6, #ARGV, 2 do
    number = number + 1
    redis.call('XADD', KEYS[2], number .. '-0', 'type', ARGV[i], 'rest', ARGV[i + 1])
  end
  redis.call('EXPIRE', KEYS[2], ARGV[5])
end
redis.call('PUBLISH', KEYS[2], '')
return 1
