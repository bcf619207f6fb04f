-- Renews or ends a claim, if it is still the claimant's.
--
-- KEYS[1]  the claim (string), ARGV[1]  the claimant's token, ARGV[2]  its new lease in ms; 0: it ends
--
-- Returns whether it was the claimant's (0 or 1).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
