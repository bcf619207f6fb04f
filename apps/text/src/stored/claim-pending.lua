-- Takes the background responses that are due, for one process: to others they are due again when its lease is over.
--
-- KEYS[1]  when each is due (sorted set, score in ms), KEYS[2]  what is known of each (hash)
-- ARGV[1]  lease in ms, ARGV[2]  how many at most
--
-- Returns what is known of each.
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local claimed = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'LIMIT', 0, ARGV[2])) do
  local known = redis.call('HGET', KEYS[2], id)
  if known then
    redis.call('ZADD', KEYS[1], now_ms + tonumber(ARGV[1]), id)
    claimed[#claimed + 1] = known
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return claimed
