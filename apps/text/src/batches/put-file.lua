-- Puts down a file and how long it is kept. The same id again replaces what was put down. Answers the bytes of its key's files where these
-- are so many already that it may not have another one; nothing is put down then.
--   KEYS[1]  the file
--   KEYS[2]  all files, by when their bytes may go
--   ARGV     prefix, id, key id, the record (JSON), bytes, when it was made, when it expires (both ms), whether it is listed (1 or 0),
--            the bytes from which on its key may not have another one (none: -1)

local prefix, id, key_id = ARGV[1], ARGV[2], ARGV[3]
local total = prefix .. ':bytes:' .. key_id
local most, kept = tonumber(ARGV[9]), tonumber(redis.call('GET', total) or 0)
if most >= 0 and kept >= most then return kept end
local before = tonumber(redis.call('HGET', KEYS[1], 'bytes') or 0)
redis.call('HSET', KEYS[1], 'keyId', key_id, 'record', ARGV[4], 'bytes', ARGV[5], 'expires', ARGV[7])
redis.call('HSETNX', KEYS[1], 'heldUntil', 0)
redis.call('ZADD', KEYS[2], ARGV[7], id)
if ARGV[8] == '1' then redis.call('ZADD', prefix .. ':of:' .. key_id, ARGV[6], id) end
redis.call('INCRBY', total, tonumber(ARGV[5]) - before)
return -1
