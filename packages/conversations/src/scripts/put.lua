-- Keeps a record: all of it, or nothing.
--
-- KEYS     those of the prelude; KEYS[15 + i] the ids that callers may name, one each (string)
-- ARGV[1]  the owner
-- ARGV[2]  what to keep (JSON): key, previous, once, writer, expects, retentionMs, maxBytes, after, base, inputHead, head, items,
--          bytes, parts (digests of the record's own), uploads (digest → name and size), ids (how long each is remembered,
--          in seconds), keyId, ownId (which of the ids is the record's, from 1)
-- ARGV[3]  the record's data
-- ARGV[4]  for whose key, and where, the ids were made (JSON); empty where there are none
-- ARGV[5]  the texts of the nodes that have no part, one after the other
-- ARGV[6…] the nodes after `base`, six each: node, parent, the item's id, its maker, the digest of its part, the bytes of its
--          text
--
-- Returns `stored` and the files that nothing refers to any more; or what prevented it: `full`, `missing` (a node or part
-- that the caller took for known), `previous` and its key, `continued`, `changed`, `taken` (the
-- record's id is another key's, or another record's), `moved` and the key of a record that is in the database.
local order = cjson.decode(ARGV[2])
local key = order.key

local former = unpacked(KEYS[1], key)
if former and is_expired(former.root) then
  remove_record(key, former)
  former = nil
end
if not former and is_moved(key) then return { 'moved', key } end
-- Some servers give an id twice; a record that came to lead to itself could never be read.
if order.previous == key or (former and former.previous ~= order.previous) then return { 'taken' } end
-- The same write may come twice, after a lost connection.
if order.writer and former and former.writer ~= order.writer then return { 'taken' } end
if order.expects and (not former or former.head ~= order.expects) then return { 'changed' } end

local previous = nil
if order.previous ~= '' then
  previous = find_record(order.previous)
  if not previous then return { may_be_moved(order.previous) and 'moved' or 'previous', order.previous } end
  if order.once and previous.next and previous.next ~= key then return { 'continued' } end
end

-- Which nodes are there already: those up to the last of them, since each keeps its parent.
local first_new = 6
for at = #ARGV - 5, 6, -6 do
  if redis.call('HEXISTS', KEYS[2], ARGV[at]) == 1 then
    first_new = at + 6
    break
  end
end
local is_base_used = first_new == 6
if is_base_used and order.base ~= '' and redis.call('HEXISTS', KEYS[2], order.base) == 0 then return { 'missing' } end

local added = OVERHEAD + #ARGV[3]
local counted = {}
local function count_part(digest)
  if counted[digest] then return true end
  counted[digest] = true
  if redis.call('HEXISTS', KEYS[5], digest) == 1 then return true end
  local upload = order.uploads[digest]
  if upload then added = added + upload.size end
  return upload ~= nil
end
for at = first_new, #ARGV - 5, 6 do
  added = added + OVERHEAD + tonumber(ARGV[at + 5])
  if ARGV[at + 4] ~= '' and not count_part(ARGV[at + 4]) then return { 'missing' } end
end
for _, digest in ipairs(order.parts) do
  if not count_part(digest) then return { 'missing' } end
end

-- An id that another key has received before stays that key's: some servers let a caller choose the id of what it makes.
local own_ids = {}
local are_some_moved = #KEYS > STORE_KEYS and redis.call('SCARD', KEYS[14]) > 1
for index = STORE_KEYS + 1, #KEYS do
  local known = redis.call('GET', KEYS[index])
  local is_own
  if known then
    is_own = cjson.decode(known).keyId == order.keyId
  else
    is_own = not are_some_moved or not is_in_moved(string.sub(KEYS[index], #'gateway:' + 1))
  end
  if is_own then
    own_ids[#own_ids + 1] = index
  elseif order.ownId == index - STORE_KEYS then
    return { 'taken' }
  end
end

local bytes = redis.call('HINCRBY', KEYS[8], 'bytes', added)
if order.maxBytes > 0 and bytes + tonumber(redis.call('GET', KEYS[13]) or 0) > order.maxBytes then
  if bytes == added then redis.call('HDEL', KEYS[8], 'bytes') else add_bytes(-added) end
  return { 'full' }
end

-- From here on nothing fails.
local used = {}
local function keep_part(digest)
  if redis.call('HEXISTS', KEYS[5], digest) == 1 then
    redis.call('HINCRBY', KEYS[3], 'part:' .. digest, 1)
    return
  end
  local upload = order.uploads[digest]
  used[digest] = true
  redis.call('HSET', KEYS[5], digest, cmsgpack.pack(upload))
  redis.call('ZREM', KEYS[9], upload.name)
end

if first_new <= #ARGV then
  local parent = ARGV[first_new + 1]
  if parent ~= '' then redis.call('HINCRBY', KEYS[3], parent, 1) end
elseif order.head ~= '' then
  redis.call('HINCRBY', KEYS[3], order.head, 1)
end
local fields = {}
local function write_nodes()
  if #fields > 0 then redis.call('HSET', KEYS[2], unpack(fields)) end
  fields = {}
end
local text_end = 0
for at = 6, first_new - 1, 6 do text_end = text_end + tonumber(ARGV[at + 5]) end
for at = first_new, #ARGV - 5, 6 do
  local node, id, part = ARGV[at], ARGV[at + 2], ARGV[at + 4]
  local text_start = text_end + 1
  text_end = text_end + tonumber(ARGV[at + 5])
  if part ~= '' then keep_part(part) end
  fields[#fields + 1] = node
  fields[#fields + 1] = cmsgpack.pack({
    parent = ARGV[at + 1], id = id, maker = ARGV[at + 3], part = part,
    json = string.sub(ARGV[5], text_start, text_end),
  })
  if #fields >= 200 then write_nodes() end
  if id ~= '' then redis.call('HSETNX', KEYS[4], id, node) end
end
write_nodes()
for _, digest in ipairs(order.parts) do keep_part(digest) end

local root = former and former.root or previous and previous.root or key
local record = {
  previous = order.previous,
  root = root,
  depth = (previous and previous.depth or 0) + 1,
  items = (previous and previous.items or 0) + order.items,
  bytes = (previous and previous.bytes or 0) + order.bytes,
  after = order.after,
  inputHead = order.inputHead,
  head = order.head,
  parts = order.parts,
  data = ARGV[3],
  next = former and former.next,
  writer = order.writer or (former and former.writer),
}
redis.call('HSET', KEYS[1], key, cmsgpack.pack(record))
if root ~= key then redis.call('ZADD', KEYS[6], 0, root .. '\0' .. key) end
if previous and order.once then
  previous.next = key
  redis.call('HSET', KEYS[1], order.previous, cmsgpack.pack(previous))
end
if former then release_content(former) end
keep_tree(root, order.retentionMs)

for digest, upload in pairs(order.uploads) do
  if not used[digest] then unused_files[#unused_files + 1] = upload.name end
end

for _, index in ipairs(own_ids) do redis.call('SET', KEYS[index], ARGV[4], 'EX', order.ids[index - STORE_KEYS]) end
return with_unused_files({ 'stored' })
