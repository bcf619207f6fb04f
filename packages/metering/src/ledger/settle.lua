-- Turns a request into its usage record, once for each id: gives back what was reserved too much, takes what was too
-- little, counts, appends the record. A reservation that is gone says nothing of that: Redis may have lost it.
--
-- KEYS[1]  the reservation (hash), KEYS[2]  the open reservations (sorted set), KEYS[3]  ids that have their record, of
-- the day on which this request began (set), KEYS[4]  the day's records (stream), KEYS[5]  the hour's sums (hash)
-- ARGV[1]  the time in microseconds, empty for Redis' own
-- ARGV[2]  reservation id, ARGV[3]  who settles, ARGV[4]  amounts by dimension (JSON)
-- ARGV[5]  the record (JSON), ARGV[6]  what the sums' fields begin with
-- ARGV[7], ARGV[8]  how long records and sums are kept, in seconds
-- ARGV[9], ARGV[10]; …  the rest of a sum's field, and what is added to it
--
-- Who settles: "ended", the request itself, whether it has reserved or could not; "abandoned", somebody else for a
-- process that is gone; "released", a request that was not let in although it may have reserved: it leaves no record.
--
-- Returns 1 when settled now, 0 when there is a record already, or nothing to settle.
local WINDOW_US = 60000000
local TAT_TTL_MS = 120000
-- Longer than what could not be settled waits on a disk.
local SETTLED_TTL_S = 8 * 86400

local id, mode = ARGV[2], ARGV[3]
local reserved = redis.call('HGET', KEYS[1], 'charges')
local has_record = redis.call('SISMEMBER', KEYS[3], id) == 1
if not reserved and (has_record or mode ~= 'ended') then return 0 end
local leaves_record = not has_record and mode ~= 'released'

-- Ends the script here if one of them is of another type.
redis.call('ZSCORE', KEYS[2], id)
redis.call('XLEN', KEYS[4])

local now_us = clock(ARGV[1])
local amounts = cjson.decode(ARGV[4])
local writes = {}
for i, charge in ipairs(cjson.decode(reserved or '[]')) do
  local kind, dimension, key, limit, held = unpack(charge)
  limit, held = amount(limit, 'limit'), amount(held, 'reserved')
  -- A second time, and for one that was not let in, all of it goes back.
  local actual = leaves_record and amount(amounts[dimension] or 0, dimension) or 0
  if kind == 'rate' then
    writes[i] = { kind, key, math.max(full_at(key), now_us) + (actual - held) * WINDOW_US / limit }
  else
    local account = redis.call('HMGET', key, 'spent', 'reserved')
    counter(account[1], 'spent')
    counter(account[2], 'reserved')
    writes[i] = { kind, key, held, actual }
  end
end

if leaves_record then
  local keep_records_s, keep_sums_s = amount(ARGV[7], 'seconds'), amount(ARGV[8], 'seconds')
  local sums = {}
  local record = cjson.decode(ARGV[5])
  for name, consumed in pairs(record.consumption) do amount(consumed, name) end
  if record.costMicroUsd ~= cjson.null then amount(record.costMicroUsd, 'cost') end
  for i = 9, #ARGV, 2 do
    local field = ARGV[6] .. ARGV[i]
    counter(redis.call('HGET', KEYS[5], field), ARGV[i])
    sums[#sums + 1] = { field, amount(ARGV[i + 1], ARGV[i]) }
  end
  -- First of all writes, since a stream may have reasons of its own to refuse an entry.
  redis.call('XADD', KEYS[4], '*', 'record', ARGV[5])
  redis.call('EXPIRE', KEYS[4], keep_records_s)
  redis.call('SADD', KEYS[3], id)
  redis.call('EXPIRE', KEYS[3], SETTLED_TTL_S)
  for _, sum in ipairs(sums) do redis.call('HINCRBY', KEYS[5], sum[1], sum[2]) end
  redis.call('EXPIRE', KEYS[5], keep_sums_s)
end

for _, write in ipairs(writes) do
  local kind, key = write[1], write[2]
  if kind == 'budget' then
    -- Not -reserved: of nothing that would be "-0", which Redis does not take for a number.
    redis.call('HINCRBY', key, 'reserved', 0 - write[3])
    if write[4] > 0 then redis.call('HINCRBY', key, 'spent', write[4]) end
  elseif write[3] > now_us then
    redis.call('SET', key, string.format('%.0f', write[3]), 'PX', TAT_TTL_MS)
  else
    redis.call('DEL', key)
  end
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], id)
return (leaves_record or mode == 'released') and 1 or 0
