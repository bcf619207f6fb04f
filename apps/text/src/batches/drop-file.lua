-- Takes a file from its caller's list, or forgets one whose time is over. Answers 1 where its bytes are to be deleted.
--   KEYS[1]  the file
--   KEYS[2]  all files, by when their bytes may go
--   ARGV     prefix, id, now (ms), why: `expired`, `deleted` by its caller, `done` with by the one who works on it

local prefix, id, now = ARGV[1], ARGV[2], tonumber(ARGV[3])
local found = redis.call('HMGET', KEYS[1], 'keyId', 'bytes', 'heldUntil')
local key_id = found[1]
if not key_id then
  redis.call('ZREM', KEYS[2], id)
  return 0
end
local held_until = tonumber(found[3])
if ARGV[4] == 'deleted' then
  redis.call('ZREM', prefix .. ':of:' .. key_id, id)
  if held_until > now then
    -- Who works on it goes on.
    redis.call('HSET', KEYS[1], 'deleted', 1)
    redis.call('ZADD', KEYS[2], held_until, id)
    return 0
  end
elseif ARGV[4] == 'expired' and tonumber(redis.call('ZSCORE', KEYS[2], id) or 0) > now then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], id)
redis.call('ZREM', prefix .. ':of:' .. key_id, id)
local total = prefix .. ':bytes:' .. key_id
if redis.call('DECRBY', total, found[2]) <= 0 then redis.call('DEL', total) end
return 1
