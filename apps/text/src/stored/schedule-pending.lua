-- Says when a background response is looked at next.
--
-- KEYS[1]  when each is due (sorted set, score in ms), KEYS[2]  what is known of each (hash)
-- ARGV[1]  its id, ARGV[2]  in how many ms, ARGV[3]  what is known of it (JSON); empty: it stays as it is, if it is there
local time = redis.call('TIME')
local due_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[2])
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
  redis.call('ZADD', KEYS[1], due_ms, ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'XX', due_ms, ARGV[1])
end
return 1
