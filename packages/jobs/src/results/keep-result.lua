-- Puts down what a job came to and how long it is kept. The same job again replaces what was put down.
--   KEYS[1]  the result
--   KEYS[2]  all results, by when they expire
--   ARGV     prefix, job id, key id, bytes, asset ids (JSON), until when it is kept in any case, when it expires (both ms)

local prefix, job_id, key_id = ARGV[1], ARGV[2], ARGV[3]
local before = tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0)
redis.call('HSET', KEYS[1], 'keyId', key_id, 'bytes', ARGV[4], 'assets', ARGV[5], 'heldUntil', ARGV[6])
redis.call('ZADD', KEYS[2], ARGV[7], job_id)
redis.call('ZADD', prefix .. ':results-of:' .. key_id, ARGV[7], job_id)
redis.call('INCRBY', prefix .. ':result-bytes:' .. key_id, tonumber(ARGV[4]) - before)
