-- Reads nodes for the database.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2…] the nodes
--
-- Returns nothing where one of them is gone, else nine values each: node, parent, the item's id, its maker, its text, the origin of
-- its id and until when that is known in ms (empty: it has none), its part's digest, and name and size of that (JSON; empty: none).
local reply = {}
for at = 2, #ARGV do
  local found = unpacked(KEYS[2], ARGV[at])
  if not found then return {} end
  local part = found.part ~= '' and unpacked(KEYS[5], found.part)
  if found.part ~= '' and not part then return {} end
  local name = 'gateway:item:' .. found.id
  local is_holder = found.id ~= '' and redis.call('HGET', KEYS[4], found.id) == ARGV[at]
  local origin = is_holder and redis.call('GET', name)
  local left = origin and redis.call('PTTL', name) or -1
  reply[#reply + 1] = ARGV[at]
  reply[#reply + 1] = found.parent
  reply[#reply + 1] = found.id
  reply[#reply + 1] = found.maker
  reply[#reply + 1] = found.json
  reply[#reply + 1] = left > 0 and origin or ''
  reply[#reply + 1] = left > 0 and now_ms + left or ''
  reply[#reply + 1] = found.part
  reply[#reply + 1] = part and cjson.encode({ name = part.name, size = part.size }) or ''
end
return reply
