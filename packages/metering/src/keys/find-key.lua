-- Finds the key that a secret's hash leads to, and its team, in one round trip.
--
-- KEYS[1]  the hash (string), ARGV[1], ARGV[2]  what the names of keys' and teams' records begin with
--
-- Returns {}, {record}, or {record, the team's record}.
local id = redis.call('GET', KEYS[1])
if not id then return {} end
local record = redis.call('GET', ARGV[1] .. id)
if not record then return {} end
local team = cjson.decode(record).team
if type(team) ~= 'string' then return { record } end
return { record, redis.call('GET', ARGV[2] .. team) or nil }
