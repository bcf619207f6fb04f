-- Finds the key that a secret's hash leads to, and its team, in one round trip.
--
-- KEYS[1]  the hash (string), ARGV[1], ARGV[2]  prefixes of the names of keys' and teams' records
--
-- Returns {}, {id, record}, or {id, record, the team's record}. The reader checks the records.
local id = redis.call('GET', KEYS[1])
if not id then return {} end
local record = redis.call('GET', ARGV[1] .. id)
if not record then return {} end
local readable, key = pcall(cjson.decode, record)
if not readable or type(key) ~= 'table' or type(key.team) ~= 'string' then return { id, record } end
return { id, record, redis.call('GET', ARGV[2] .. key.team) or nil }
