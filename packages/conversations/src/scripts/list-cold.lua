-- Lists trees of an owner that were last used before a time, oldest first, and notes the owner's oldest use.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2]  used before, in ms, ARGV[3]  how many at most
--
-- Returns two values each: the root, and when its tree was last used.

-- Of what was stored before uses were noted, some records with each call.
local cursor = redis.call('HGET', KEYS[8], 'noted') or '0'
if cursor ~= 'all' then
  local found = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', 500)
  for at = 2, #found[2], 2 do redis.call('ZADD', KEYS[11], 'NX', now_ms, cmsgpack.unpack(found[2][at]).root) end
  redis.call('HSET', KEYS[8], 'noted', found[1] == '0' and 'all' or found[1])
  if found[1] ~= '0' then return {} end
end

local oldest = redis.call('ZRANGE', KEYS[11], 0, 0, 'WITHSCORES')[2]
if oldest then
  redis.call('ZADD', KEYS[12], oldest, ARGV[1])
else
  redis.call('ZREM', KEYS[12], ARGV[1])
end
return redis.call('ZRANGEBYSCORE', KEYS[11], '-inf', '(' .. ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[3])
