-- Remembers for whose key, and where, ids were made. An id that another key has received before stays that key's: some
-- servers let a caller choose the id of what it makes.
--
-- KEYS[1]  what is in the database (set), KEYS[1 + i]  one id each (string)
-- ARGV[1]  the origin (JSON), ARGV[2 * i]  how long it is kept, in seconds, ARGV[2 * i + 1]  its member in the set
--
-- Returns how many of them are not remembered.
local owner = cjson.decode(ARGV[1]).keyId
local are_some_moved = redis.call('SCARD', KEYS[1]) > 1
local refused = 0
for i = 1, #KEYS - 1 do
  local known = redis.call('GET', KEYS[1 + i])
  local is_elsewhere = not known and are_some_moved and redis.call('SISMEMBER', KEYS[1], ARGV[2 * i + 1]) == 1
  if is_elsewhere or (known and cjson.decode(known).keyId ~= owner) then
    refused = refused + 1
  else
    redis.call('SET', KEYS[1 + i], ARGV[1], 'EX', ARGV[2 * i])
  end
end
return refused
