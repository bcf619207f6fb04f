-- Notes that a caller has got a result: from then on it is kept for a shorter time, unless it is held for longer.
--   KEYS[1]  the result
--   KEYS[2]  all results, by when they expire
--   ARGV     prefix, job id, now, when it is to expire (both ms)

local prefix, job_id, now = ARGV[1], ARGV[2], tonumber(ARGV[3])
local key_id = redis.call('HGET', KEYS[1], 'keyId')
if not key_id then return end
local held_until = tonumber(redis.call('HGET', KEYS[1], 'heldUntil'))
local expires = math.max(tonumber(ARGV[4]), held_until)
redis.call('ZADD', KEYS[2], expires, job_id)
redis.call('ZADD', prefix .. ':results-of:' .. key_id, expires, job_id)
-- One that is held makes no room for others.
if held_until <= now then redis.call('ZADD', prefix .. ':results-delivered:' .. key_id, expires, job_id) end
