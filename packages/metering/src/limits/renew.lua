-- Renews the slots of requests that still run.
--
-- KEYS[1]  an owner's running requests (sorted set)
-- ARGV[1]  the time in microseconds, empty for Redis' own, ARGV[2]  lease in ms, ARGV[3...]  request ids
local lease_ms = amount(ARGV[2], 'lease')
local until_ms = math.floor(clock(ARGV[1]) / 1000) + lease_ms

for i = 3, #ARGV do redis.call('ZADD', KEYS[1], 'XX', until_ms, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], lease_ms)
return 1
