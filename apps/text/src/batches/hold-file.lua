-- Keeps the bytes of a file until a time at least, for who works on them. Answers 1 if there is such a file.
--   KEYS[1]  the file
--   KEYS[2]  all files, by when their bytes may go
--   ARGV     id, until when (ms)

local found = redis.call('HMGET', KEYS[1], 'expires', 'deleted', 'heldUntil')
if not found[1] then return 0 end
local held_until = math.max(tonumber(ARGV[2]), tonumber(found[3]))
redis.call('HSET', KEYS[1], 'heldUntil', held_until)
local due = found[2] and held_until or math.max(held_until, tonumber(found[1]))
redis.call('ZADD', KEYS[2], due, ARGV[1])
return 1
