-- Finds the key that a secret's hash leads to, and its team, in one round trip.
--
-- KEYS[1]  the hash (string), KEYS[2]  what is there while Redis has all that the database has (string)
-- ARGV[1], ARGV[2]  prefixes of the names of keys' and teams' records
--
-- Returns {id, record}, or {id, record, the team's record}. The reader checks the records. Without a key {}, or {''} where it
-- may exist all the same.
local id = redis.call('GET', KEYS[1])
local record = id and redis.call('GET', ARGV[1] .. id)
if not record then return redis.call('EXISTS', KEYS[2]) == 1 and {} or { '' } end
local readable, key = pcall(cjson.decode, record)
if not readable or type(key) ~= 'table' or type(key.team) ~= 'string' then return { id, record } end
return { id, record, redis.call('GET', ARGV[2] .. key.team) or nil }
