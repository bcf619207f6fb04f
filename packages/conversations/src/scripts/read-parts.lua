-- Reads where parts lie.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2…] their digests
--
-- Returns name and size (JSON) of each; empty for one that is not there.
local reply = {}
for at = 2, #ARGV do
  local part = unpacked(KEYS[5], ARGV[at])
  reply[#reply + 1] = part and cjson.encode({ name = part.name, size = part.size }) or ''
end
return reply
