-- Brings accounts to what the database says that they have spent, and to what is still on its way there.
--
-- KEYS[1...n]  the accounts (hashes), KEYS[n + 1...]  streams of records
-- ARGV[1]  n, ARGV[2]  how many entries of the streams may be on their way, ARGV[3]  how long accounts are kept, in seconds
-- ARGV[4...]  what each account has spent by the database, in micro-dollars; then the last entry of each stream that it has
--
-- Returns 1; 0 where more is on its way.
local count, most, kept_s = amount(ARGV[1], 'accounts'), amount(ARGV[2], 'entries'), amount(ARGV[3], 'seconds')
local spent = {}
for i = 1, count do spent[KEYS[i]] = amount(ARGV[3 + i], 'cost') end

for i = count + 1, #KEYS do
  local entries = redis.call('XRANGE', KEYS[i], '(' .. ARGV[3 + i], '+', 'COUNT', most + 1)
  most = most - #entries
  if most < 0 then return 0 end
  for _, entry in ipairs(entries) do
    local _, record, kind, accounts = unpack(entry[2])
    if kind == 'accounts' then
      local cost
      for _, name in ipairs(cjson.decode(accounts)) do
        if spent[name] then
          cost = cost or tonumber(cjson.decode(record).costMicroUsd) or 0
          spent[name] = spent[name] + cost
        end
      end
    end
  end
end

for i = 1, count do redis.call('HGET', KEYS[i], 'spent') end
for i = 1, count do
  redis.call('HSET', KEYS[i], 'spent', string.format('%d', spent[KEYS[i]]))
  redis.call('EXPIRE', KEYS[i], kept_s)
end
return 1
