-- Writes what alerts remember, for the holder of the lease only.
-- KEYS[1]: the lease, KEYS[2]: the state. ARGV[1]: who writes, ARGV[2]: the state.
-- Returns 1 where it was written, else 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
return 1
