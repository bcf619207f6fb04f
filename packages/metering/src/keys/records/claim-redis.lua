-- Says that a gateway with this database uses this Redis, unless one with another database does.
--
-- KEYS[1]  the database that is in use here (string), ARGV[1]  its id, ARGV[2]  for how long, in milliseconds
--
-- Returns 0 if claimed; else in how many milliseconds the other one's claim ends.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return math.max(1, redis.call('PTTL', KEYS[1])) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', amount(ARGV[2], 'milliseconds'))
return 0
