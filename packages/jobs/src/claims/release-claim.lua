-- Gives an idempotency key back.
-- KEYS[1] the claim
-- ARGV[1] the id of the job that has it
local held = redis.call('GET', KEYS[1])
if held and cjson.decode(held).jobId == ARGV[1] then redis.call('DEL', KEYS[1]) end
