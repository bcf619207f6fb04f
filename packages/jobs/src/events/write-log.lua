-- Appends entries to a log that has not ended, numbers them, and may end the log in the same step.
--
-- KEYS[1]  its head (hash): `ending` once it has ended, `bytes`, `full`, and what its owner keeps there
-- KEYS[2]  its entries (stream); the one with the number N has the id (N + 1)-0. Also the channel on which a change is published
-- ARGV[1]  how (JSON): `names` of an entry's values; `maxBytes`; `drops` the oldest entries beyond that, else the log is `full`;
--          `begins`: it may begin with this; `ends` it; `headSeconds` and `seconds` until head and entries are forgotten;
--          `fields`: how many fields of the head are given; `known`: how many entries its writer knows to be there. A failover
--          may have lost the last of them, and their numbers are not given again, since readers have them.
-- ARGV[2], …  name and value of each field of the head, an empty value removes it; then the values of each entry
--
-- Returns 1 and the number of its entries so far, or 0 where the log has ended or is not there: then nothing is changed.
local head, entries = KEYS[1], KEYS[2]
local how = cjson.decode(ARGV[1])
local facts = redis.call('HMGET', head, 'ending', 'full')
if facts[1] or not (how.begins or redis.call('EXISTS', head) == 1) then
  return { 0, 0 }
end
local number = how.known
local first = 2 * how.fields + 2
for i = 2, first - 1, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', head, ARGV[i])
  else
    redis.call('HSET', head, ARGV[i], ARGV[i + 1])
  end
end
local isFull = facts[2]
if first <= #ARGV and not isFull then
  local size = 0
  for i = first, #ARGV do
    size = size + #ARGV[i]
  end
  local bytes = redis.call('HINCRBY', head, 'bytes', size)
  if bytes > how.maxBytes and not (how.drops or how.ends) then
    redis.call('HSET', head, 'full', 1)
  else
    local last = redis.call('XREVRANGE', entries, '+', '-', 'COUNT', 1)
    number = math.max(number, last[1] and tonumber(string.match(last[1][1], '^%d+')) or 0)
    for i = first, #ARGV, #how.names do
      number = number + 1
      local entry = {}
      for at, name in ipairs(how.names) do
        entry[2 * at - 1], entry[2 * at] = name, ARGV[i + at - 1]
      end
      redis.call('XADD', entries, number .. '-0', unpack(entry))
    end
    -- The newest stays, however long it is.
    while how.drops and bytes > how.maxBytes and redis.call('XLEN', entries) > 1 do
      local oldest = redis.call('XRANGE', entries, '-', '+', 'COUNT', 1)[1]
      for at = 2, #oldest[2], 2 do
        bytes = bytes - #oldest[2][at]
      end
      redis.call('XDEL', entries, oldest[1])
      redis.call('HSET', head, 'bytes', bytes)
    end
  end
end
redis.call('EXPIRE', head, how.headSeconds)
redis.call('EXPIRE', entries, how.seconds)
redis.call('PUBLISH', entries, '')
return { 1, number }
