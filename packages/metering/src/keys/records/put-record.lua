-- Writes a record as the database has it, unless a later version is here, and what leads to it.
--
-- KEYS[1]  the record (string), KEYS[2]  the versions of records (hash), and without a name the latest of them
-- ARGV[1]  the record's name among the versions, ARGV[2]  its version, ARGV[3]  its text, empty where it was deleted
-- ARGV[4]  its id, ARGV[5]  the prefix of the names of secrets' hashes, ARGV[6...]  the hashes that lead to it
--
-- Returns 1 if written, 0 if this version or a later one is here.
local version = amount(ARGV[2], 'version')
local there = counter(redis.call('HGET', KEYS[2], ARGV[1]), 'version')
if there > version then return 0 end
local before = redis.call('GET', KEYS[1])
if there == version and before then return 0 end

local leading = {}
for i = 6, #ARGV do leading[ARGV[i]] = true end
local ending = {}
local is_read, old = pcall(cjson.decode, before or '{}')
if is_read and type(old) == 'table' and type(old.secrets) == 'table' then
  for _, secret in ipairs(old.secrets) do
    if type(secret) == 'table' and type(secret.hash) == 'string' and not leading[secret.hash] then
      ending[#ending + 1] = ARGV[5] .. secret.hash
    end
  end
end

redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if counter(redis.call('HGET', KEYS[2], ''), 'version') < version then redis.call('HSET', KEYS[2], '', ARGV[2]) end
if ARGV[3] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[3]) end
for hash in pairs(leading) do redis.call('SET', ARGV[5] .. hash, ARGV[4]) end
if #ending > 0 then redis.call('DEL', unpack(ending)) end
return 1
