-- Puts down a file and how long it is kept. The same id again replaces what was put down. Where its key has so much already that it may not
-- have another one, nothing is put down. Answers 1 where it was, else 0.
--   KEYS[1]  the file
--   KEYS[2]  all files, by when their bytes may go
--   ARGV     prefix, id, key id, the record (JSON), bytes, when it was made, when it expires (both ms), whether it is listed (1 or 0),
--            the bytes, and the listed files, from which on its key may not have another one (no limits: -1 both)

local prefix, id, key_id = ARGV[1], ARGV[2], ARGV[3]
local total, list = prefix .. ':bytes:' .. key_id, prefix .. ':of:' .. key_id
local most_bytes, most_files = tonumber(ARGV[9]), tonumber(ARGV[10])
if most_bytes >= 0 and tonumber(redis.call('GET', total) or 0) >= most_bytes then return 0 end
if most_files >= 0 and redis.call('ZCARD', list) >= most_files then return 0 end
local before = tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0)
redis.call('HSET', KEYS[1], 'keyId', key_id, 'record', ARGV[4], 'bytes', ARGV[5], 'expires', ARGV[7])
redis.call('HSETNX', KEYS[1], 'heldUntil', 0)
redis.call('ZADD', KEYS[2], ARGV[7], id)
if ARGV[8] == '1' then redis.call('ZADD', list, ARGV[6], id) end
redis.call('INCRBY', total, tonumber(ARGV[5]) - before)
return 1
