-- Remembers for whose key, and where, ids were made. An id that another key has received before stays that key's: some
-- servers let a caller choose the id of what it makes.
--
-- KEYS[i]  one id each (string), ARGV[1]  the origin (JSON), ARGV[1 + i]  how long it is kept, in seconds
--
-- Returns how many of them are not remembered.
local owner = cjson.decode(ARGV[1]).keyId
local refused = 0
for i = 1, #KEYS do
  local known = redis.call('GET', KEYS[i])
  if known and cjson.decode(known).keyId ~= owner then
    refused = refused + 1
  else
    redis.call('SET', KEYS[i], ARGV[1], 'EX', ARGV[1 + i])
  end
end
return refused
