-- Reads a tree's records for the database, and which nodes they lead to.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2]  the root, ARGV[3]  how many nodes at most, ARGV[4]  how many bytes of their texts
--
-- Returns `large`, or when the tree was last used (`false`: it is not there), when it expires (empty: never), whether a record of
-- it was removed, how many records there are, four values each: its key, itself (JSON), its id's origin and until when that is
-- known in ms (empty: it has none); then the nodes.
local used = redis.call('ZSCORE', KEYS[11], ARGV[2])
local reply = {
  used or 'false', redis.call('ZSCORE', KEYS[7], ARGV[2]) or '', redis.call('HEXISTS', KEYS[8], 'hole:' .. ARGV[2]), 0,
}
local keys = redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 and { ARGV[2] } or {}
for _, member in ipairs(redis.call('ZRANGEBYLEX', KEYS[6], '[' .. ARGV[2] .. '\0', '[' .. ARGV[2] .. '\0\255')) do
  keys[#keys + 1] = string.sub(member, #ARGV[2] + 2)
end
local heads = {}
for _, key in ipairs(keys) do
  local record = unpacked(KEYS[1], key)
  if record and record.root == ARGV[2] then
    local origin = string.sub(key, 1, 9) == 'response:' and redis.call('GET', 'gateway:' .. key)
    local left = origin and redis.call('PTTL', 'gateway:' .. key) or -1
    reply[4] = reply[4] + 1
    reply[#reply + 1] = key
    reply[#reply + 1] = cjson.encode(record)
    reply[#reply + 1] = left > 0 and origin or ''
    reply[#reply + 1] = left > 0 and now_ms + left or ''
    heads[#heads + 1] = record.head
  end
end
local limit = #reply + tonumber(ARGV[3])
local seen = { [''] = true }
local bytes = 0
for _, node in ipairs(heads) do
  while not seen[node] do
    local found = unpacked(KEYS[2], node)
    if not found then return { 'false' } end
    bytes = bytes + #found.json
    if #reply >= limit or bytes > tonumber(ARGV[4]) then return { 'large' } end
    seen[node] = true
    reply[#reply + 1] = node
    node = found.parent
  end
end
return reply
