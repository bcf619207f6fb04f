-- Forgets what has expired in the database.
--
-- KEYS     those of the prelude; KEYS[16] who may move (string)
-- ARGV[1]  the owner, ARGV[2]  who moves, ARGV[3]  how many names
-- ARGV[4…] names of the set of what was moved; then two each: the digest of a part, and the name of the file that the database
--          does not refer to any more
--
-- Returns 1, or -1 where somebody else moves.
if redis.call('GET', KEYS[16]) ~= ARGV[2] then return -1 end
local first_part = 4 + tonumber(ARGV[3])
for at = 4, first_part - 1 do redis.call('SREM', KEYS[14], moved_member(ARGV[at])) end
for at = first_part, #ARGV, 2 do
  local part = unpacked(KEYS[5], ARGV[at])
  if part and part.name == ARGV[at + 1] then
    part.held = nil
    redis.call('HSET', KEYS[5], ARGV[at], cmsgpack.pack(part))
  else
    release_file(ARGV[at + 1])
  end
end
return 1
