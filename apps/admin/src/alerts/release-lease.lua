-- Ends one's own lease.
-- KEYS[1]: the lease. ARGV[1]: who has it.
-- Returns 1 where it was held, else 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
