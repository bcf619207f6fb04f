-- Forgets a result, if it has expired by then. Answers the ids of its assets (JSON), for the caller to delete; nothing where there is none.
--   KEYS[1]  the result
--   KEYS[2]  all results, by when they expire
--   ARGV     prefix, job id, the time by which it must have expired (ms), or +inf

local prefix, job_id = ARGV[1], ARGV[2]
local found = redis.call('HMGET', KEYS[1], 'keyId', 'bytes', 'assets')
local key_id, bytes, assets = found[1], found[2], found[3]
if not key_id then
  redis.call('ZREM', KEYS[2], job_id)
  return false
end
local expires = tonumber(redis.call('ZSCORE', KEYS[2], job_id) or 0)
if ARGV[3] ~= '+inf' and expires > tonumber(ARGV[3]) then return false end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], job_id)
redis.call('ZREM', prefix .. ':results-of:' .. key_id, job_id)
redis.call('ZREM', prefix .. ':results-delivered:' .. key_id, job_id)
local total = prefix .. ':result-bytes:' .. key_id
if redis.call('DECRBY', total, bytes) <= 0 then redis.call('DEL', total) end
return assets
