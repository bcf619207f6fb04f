-- What all scripts of the conversation store share. Everything below belongs to one owner.
--
-- KEYS[1]  records (hash: kind and id → packed record)
-- KEYS[2]  nodes (hash: node → packed node). A node is one item after those of its parent, so that conversations which
--          begin alike keep their beginning once.
-- KEYS[3]  references beyond the first (hash: node, or `part:` and a digest → count). What loses its last one is removed.
-- KEYS[4]  items (hash: an item's id → the node that holds it)
-- KEYS[5]  parts (hash: digest → packed name and size of what lies outside of Redis)
-- KEYS[6]  trees (sorted set, scores 0: `root\0record`). A tree is a record, its root, and all that continue it.
-- KEYS[7]  when trees expire (sorted set: root → ms); a tree that is not in it does not
-- KEYS[8]  sums (hash: bytes), and `hole:` and a root where a record of that tree was removed
-- KEYS[9]  files to remove (sorted set: name → when, in ms)
-- KEYS[10] owners (sorted set: owner → when to sweep next, in ms); of all owners
-- KEYS[11] uses (sorted set: root → when any of the tree was last used or changed, in ms)
-- KEYS[12] users (sorted set: owner → no tree of its was used last before this, in ms); of all owners
-- KEYS[13] moved bytes (string): what the owner has in the database; absent: nothing
-- KEYS[14] moved (set: digests of what is in the database, see `moved_member`); of all owners. `whole`: none is missing
-- KEYS[15] moves (hash: `owner\0root` → the move that is not over); of all owners
-- ARGV[1]  the owner

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- How long the process that was given a file to remove has for it, before a sweep removes it.
local REMOVAL_MS = 60000

-- What an entry of a hash takes beside its content, in bytes.
local OVERHEAD = 150

-- How many keys there are of these.
local STORE_KEYS = 15

-- Names of files that nothing refers to any more.
local unused_files = {}

-- Ids of items that are gone with their nodes.
local gone_items = {}

local function unpacked(hash, field)
  local packed = redis.call('HGET', hash, field)
  return packed and cmsgpack.unpack(packed)
end

-- Whether something loses its last reference.
local function loses_last(field)
  local more = tonumber(redis.call('HGET', KEYS[3], field))
  if not more then return true end
  if more <= 1 then redis.call('HDEL', KEYS[3], field) else redis.call('HINCRBY', KEYS[3], field, -1) end
  return false
end

local function add_bytes(count)
  redis.call('HINCRBY', KEYS[8], 'bytes', count)
end

local function sweep_by(due_ms)
  redis.call('ZADD', KEYS[10], 'LT', due_ms, ARGV[1])
end

-- A file that nothing refers to is removed by who released it, or later by a sweep.
local function release_file(name)
  redis.call('ZADD', KEYS[9], now_ms + REMOVAL_MS, name)
  sweep_by(now_ms + REMOVAL_MS)
  unused_files[#unused_files + 1] = name
end

local function release_part(digest)
  if not loses_last('part:' .. digest) then return end
  local part = unpacked(KEYS[5], digest)
  if not part then return end
  redis.call('HDEL', KEYS[5], digest)
  -- What is in the database may refer to the same file.
  if not part.held then release_file(part.name) end
  add_bytes(-part.size)
end

local function release_node(node)
  while node ~= '' and loses_last(node) do
    local found = unpacked(KEYS[2], node)
    if not found then return end
    redis.call('HDEL', KEYS[2], node)
    if found.id ~= '' and redis.call('HGET', KEYS[4], found.id) == node then
      redis.call('HDEL', KEYS[4], found.id)
      gone_items[#gone_items + 1] = found.id
    end
    if found.part ~= '' then release_part(found.part) end
    add_bytes(-(OVERHEAD + #found.json))
    node = found.parent
  end
end

local function release_content(record)
  release_node(record.head)
  for _, digest in ipairs(record.parts) do release_part(digest) end
  add_bytes(-(OVERHEAD + #record.data))
end

local function is_expired(root)
  local expires = tonumber(redis.call('ZSCORE', KEYS[7], root) or nil)
  return expires ~= nil and expires <= now_ms
end

local function find_record(key)
  local record = unpacked(KEYS[1], key)
  return record and not is_expired(record.root) and record
end

-- The first record that is missing among those which a record continues; nil where all are there.
local function missing_ancestor(record)
  if redis.call('HEXISTS', KEYS[8], 'hole:' .. record.root) == 0 then return nil end
  while record.previous ~= '' do
    local key = record.previous
    record = unpacked(KEYS[1], key)
    if not record then return key end
  end
  return nil
end

-- What was used is not moved to the database for some hours; what is on its way there stays.
local function note_use(root)
  if redis.call('ZADD', KEYS[11], now_ms, root) == 1 then redis.call('ZADD', KEYS[12], 'NX', now_ms, ARGV[1]) end
end

local function keep_tree(root, retention_ms)
  note_use(root)
  if retention_ms == '' then return end
  local expires = now_ms + tonumber(retention_ms)
  redis.call('ZADD', KEYS[7], 'GT', expires, root)
  sweep_by(expires)
end

local function records_of(root, count)
  return redis.call('ZRANGEBYLEX', KEYS[6], '[' .. root .. '\0', '[' .. root .. '\0\255', 'LIMIT', 0, count)
end

-- Removes a record; what continues it has a hole from then on.
local function remove_record(key, record)
  redis.call('HDEL', KEYS[1], key)
  redis.call('ZREM', KEYS[6], record.root .. '\0' .. key)
  release_content(record)
  local has_root = key ~= record.root and redis.call('HEXISTS', KEYS[1], record.root) == 1
  if has_root or #records_of(record.root, 1) > 0 then
    redis.call('HSET', KEYS[8], 'hole:' .. record.root, 1)
    note_use(record.root)
  else
    redis.call('ZREM', KEYS[7], record.root)
    redis.call('ZREM', KEYS[11], record.root)
    redis.call('HDEL', KEYS[8], 'hole:' .. record.root)
  end
end

-- The names under which the set of what was moved has something: a record that no other key's may be taken for, and an id whose
-- origin is in the database, for every key.
local function moved_member(text)
  return string.sub(redis.sha1hex(text), 1, 14)
end

local function is_in_moved(text)
  return redis.call('SISMEMBER', KEYS[14], moved_member(text)) == 1
end

-- Whether the owner has this record in the database; another owner's with the same id may be taken for it.
local function is_moved(key)
  if redis.call('EXISTS', KEYS[13]) == 0 then return false end
  return is_in_moved(ARGV[1] .. '\0' .. key) or is_in_moved(key)
end

-- The same while an emptied Redis does not know yet what is there.
local function may_be_moved(key)
  if redis.call('EXISTS', KEYS[13]) == 0 then return false end
  return is_moved(key) or redis.call('SISMEMBER', KEYS[14], 'whole') == 0
end

local function with_unused_files(reply)
  for _, name in ipairs(unused_files) do reply[#reply + 1] = name end
  return reply
end
