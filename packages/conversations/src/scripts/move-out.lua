-- Removes a tree that the database has, unless it was used since.
--
-- KEYS     those of the prelude; KEYS[16] who may move (string)
-- ARGV[1]  the owner, ARGV[2]  who moves it, ARGV[3]  the root, ARGV[4]  the move
-- ARGV[5]  when it was last used as the database has it, ARGV[6]  what the owner has in the database, in bytes
-- ARGV[7]  how many parts; ARGV[8…] two each: the digest of a part, and the name of the file that the database refers to; then
--          the ids whose origins the database has, such as `item:msg_…`
--
-- Returns 1 where it is not here any more and the database's counts, 0 where the database's does not, -1 where somebody else moves.
if redis.call('GET', KEYS[16]) ~= ARGV[2] then return -1 end
local root = ARGV[3]
if redis.call('HGET', KEYS[15], ARGV[1] .. '\0' .. root) == ARGV[4] then return 1 end
local used = redis.call('ZSCORE', KEYS[11], root)
-- An emptied Redis has nothing of the owner; in any other it was removed.
if not used then return 1 - redis.call('EXISTS', KEYS[8]) end
-- A Redis that was set back has it as it was before.
if tonumber(used) > tonumber(ARGV[5]) then return 0 end

local first_id = 8 + 2 * tonumber(ARGV[7])
local is_remembered = {}
for at = first_id, #ARGV do is_remembered[ARGV[at]] = true end
for at = 8, first_id - 1, 2 do
  local part = unpacked(KEYS[5], ARGV[at])
  if part and part.name == ARGV[at + 1] then
    part.held = true
    redis.call('HSET', KEYS[5], ARGV[at], cmsgpack.pack(part))
  end
end
local function move_record(key)
  local record = unpacked(KEYS[1], key)
  if not record or record.root ~= root then return end
  redis.call('HDEL', KEYS[1], key)
  redis.call('ZREM', KEYS[6], root .. '\0' .. key)
  release_content(record)
  if is_remembered[key] then redis.call('DEL', 'gateway:' .. key) end
  redis.call('SADD', KEYS[14], moved_member(is_remembered[key] and key or ARGV[1] .. '\0' .. key))
end
move_record(root)
for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[6], '[' .. root .. '\0', '[' .. root .. '\0\255')) do
  move_record(string.sub(member, #root + 2))
end
for _, id in ipairs(gone_items) do
  if is_remembered['item:' .. id] then
    redis.call('DEL', 'gateway:item:' .. id)
    redis.call('SADD', KEYS[14], moved_member('item:' .. id))
  end
end
redis.call('ZREM', KEYS[7], root)
redis.call('ZREM', KEYS[11], root)
redis.call('HDEL', KEYS[8], 'hole:' .. root)
redis.call('HSET', KEYS[15], ARGV[1] .. '\0' .. root, ARGV[4])
redis.call('SET', KEYS[13], ARGV[6])
return 1
