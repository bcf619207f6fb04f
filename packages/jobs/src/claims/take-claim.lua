-- Gives an idempotency key to a job, unless another job has it.
-- KEYS[1] the claim
-- ARGV[1] the new claim  ARGV[2] the claim that it may replace, or ''  ARGV[3] seconds that it holds
-- Returns the claim that stands then.
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[2] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[3])
return ARGV[1]
