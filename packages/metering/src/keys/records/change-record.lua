-- Changes a record, its index, its secrets and the audit log together, unless the record changed meanwhile.
--
-- KEYS[1]  the record (string), KEYS[2]  the index of all records (sorted set), KEYS[3]  the audit log (stream)
-- KEYS[4...]  secrets' hashes (strings): first those that begin to lead to the record, then those that end
-- ARGV[1]  the record as it was read, empty if there was none, ARGV[2]  the new record, empty to delete it
-- ARGV[3]  the record's id, ARGV[4]  the entry for the audit log, ARGV[5]  how many entries the log keeps
-- ARGV[6]  how many of the hashes begin
--
-- Returns 1 if changed, 0 if the record changed since it was read.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] ~= '' then cjson.decode(ARGV[2]) end
cjson.decode(ARGV[4])
local kept_entries = amount(ARGV[5], 'entries')
local beginning = amount(ARGV[6], 'hashes')
-- Fails here if this is not a sorted set.
redis.call('ZSCORE', KEYS[2], ARGV[3])

-- The first write, because a stream can refuse an entry for its own reasons.
redis.call('XADD', KEYS[3], 'MAXLEN', '~', kept_entries, '*', 'entry', ARGV[4])
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[3])
else
  redis.call('SET', KEYS[1], ARGV[2])
  redis.call('ZADD', KEYS[2], 0, ARGV[3])
end
for i = 4, #KEYS do
  if i < 4 + beginning then
    redis.call('SET', KEYS[i], ARGV[3])
  else
    redis.call('DEL', KEYS[i])
  end
end
return 1
