-- Puts a tree of the database back, as it was.
--
-- KEYS     those of the prelude; KEYS[16] who may move (string)
-- ARGV[1]  the owner, ARGV[2]  who moves it, ARGV[3]  the tree (JSON): root, move, expires (ms; empty: never), hasHole,
--          records (key, content, origin, until), parts (digest → name, size, and whether the database still refers to it),
--          nodes (node, parent, id, maker, part, origin, until)
-- ARGV[4…] the nodes' texts
--
-- Returns 1, or -1 where somebody else moves.
if redis.call('GET', KEYS[16]) ~= ARGV[2] then return -1 end
local tree = cjson.decode(ARGV[3])
local root = tree.root
if redis.call('HGET', KEYS[15], ARGV[1] .. '\0' .. root) == tree.move then return 1 end
redis.call('HSET', KEYS[15], ARGV[1] .. '\0' .. root, tree.move)

local function remember(name, origin, until_ms)
  if origin == '' then return end
  redis.call('SREM', KEYS[14], moved_member(name))
  if until_ms > now_ms then redis.call('SET', 'gateway:' .. name, origin, 'PX', until_ms - now_ms, 'NX') end
end

-- Everything has one reference less in `references` than there are.
local counts = {}
local is_new = {}
local function count(field)
  counts[field] = (counts[field] or 0) + 1
end

for digest, part in pairs(tree.parts) do
  local here = unpacked(KEYS[5], digest)
  if not here then
    is_new['part:' .. digest] = true
    here = { name = part.name, size = part.size }
    add_bytes(part.size)
  elseif here.name ~= part.name and not part.isHeld then
    release_file(part.name)
  end
  if here.name == part.name then here.held = part.isHeld or nil end
  redis.call('HSET', KEYS[5], digest, cmsgpack.pack(here))
  redis.call('ZREM', KEYS[9], here.name)
end
for index, node in ipairs(tree.nodes) do
  local name = node[1]
  if redis.call('HEXISTS', KEYS[2], name) == 0 then
    local json = ARGV[3 + index]
    is_new[name] = true
    redis.call('HSET', KEYS[2], name, cmsgpack.pack({
      parent = node[2], id = node[3], maker = node[4], part = node[5], json = json,
    }))
    add_bytes(OVERHEAD + #json)
    if node[2] ~= '' then count(node[2]) end
    if node[5] ~= '' then count('part:' .. node[5]) end
    if node[3] ~= '' then redis.call('HSETNX', KEYS[4], node[3], name) end
  end
  if node[3] ~= '' then remember('item:' .. node[3], node[6], node[7]) end
end
for _, one in ipairs(tree.records) do
  local key, record = one[1], cjson.decode(one[2])
  redis.call('SREM', KEYS[14], moved_member(ARGV[1] .. '\0' .. key))
  remember(key, one[3], one[4])
  redis.call('HSET', KEYS[1], key, cmsgpack.pack(record))
  if key ~= root then redis.call('ZADD', KEYS[6], 0, root .. '\0' .. key) end
  if record.head ~= '' then count(record.head) end
  for _, digest in ipairs(record.parts) do count('part:' .. digest) end
  add_bytes(OVERHEAD + #record.data)
end
for field, references in pairs(counts) do
  local more = is_new[field] and references - 1 or references
  if more > 0 then redis.call('HINCRBY', KEYS[3], field, more) end
end
if tree.hasHole then redis.call('HSET', KEYS[8], 'hole:' .. root, 1) end
if tree.expires ~= '' then
  redis.call('ZADD', KEYS[7], tree.expires, root)
  sweep_by(tree.expires)
end
note_use(root)
return 1
