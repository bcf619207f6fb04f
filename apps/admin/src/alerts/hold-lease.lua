-- Takes a lease that is free, or prolongs one's own.
-- KEYS[1]: the lease. ARGV[1]: who takes it, ARGV[2]: for how many milliseconds.
-- Returns 1 where it is held now, else 0.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
