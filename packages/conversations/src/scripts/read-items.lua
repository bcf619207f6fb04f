-- Reads single items by their ids.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner
-- ARGV[2…] two each: an item's id, and the node that the id names where no item has it; empty: none
--
-- Returns five values each: the id that the item has of its own, its maker, its text, the name of its file where the text is
-- there, and its bytes; five times false for one that is not there. Then 1 where such a one may be in the database.
local reply = {}
local are_all_here = true
for at = 2, #ARGV, 2 do
  local node = redis.call('HGET', KEYS[4], ARGV[at]) or ARGV[at + 1]
  local found = node ~= '' and unpacked(KEYS[2], node)
  local part = found and found.part ~= '' and unpacked(KEYS[5], found.part)
  are_all_here = are_all_here and found
  reply[#reply + 1] = found and found.id
  reply[#reply + 1] = found and found.maker
  reply[#reply + 1] = found and found.json
  reply[#reply + 1] = found and (part and part.name or '')
  reply[#reply + 1] = found and (part and part.size or #found.json)
end
if not are_all_here and redis.call('EXISTS', KEYS[13]) == 1 then reply[#reply + 1] = 1 end
return reply
