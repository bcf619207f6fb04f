-- Keeps the places of requests that are still running.
--
-- KEYS[1]  an owner's running requests (sorted set), ARGV[1]  lease in ms, ARGV[2...]  request ids
local time = redis.call('TIME')
local until_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[1])
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', until_ms, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
