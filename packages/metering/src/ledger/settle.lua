-- Turns a reservation into its usage record: gives back what was reserved too much, takes what was too little,
-- counts, appends the record. Once: a reservation that is gone was settled before.
--
-- KEYS[1]  the reservation (hash), KEYS[2]  the open reservations (sorted set), KEYS[3]  the mark of an id that was not
-- settled by the request that reserved it (string), KEYS[4]  the day's records (stream), KEYS[5]  the hour's sums (hash)
-- ARGV[1]  reservation id, ARGV[2]  who settles, ARGV[3]  amounts by dimension (JSON)
-- ARGV[4]  the record (JSON), ARGV[5]  what the sums' fields begin with
-- ARGV[6], ARGV[7]  how long records and sums are kept, in seconds
-- ARGV[8], ARGV[9]; …  the rest of a sum's field, and what is added to it
--
-- Who settles: "reserved", a request that knows that it has reserved; "unreserved", one that does not know it because
-- Redis did not answer; "abandoned", somebody else for a process that is gone; "released", a request that was not let in
-- although it may have reserved: it leaves no record.
--
-- Returns 1 when settled now, 0 when settled before.
local WINDOW_US = 60000000
local TAT_TTL_MS = 120000
local MARK_TTL_S = 7 * 86400

local charges = redis.call('HGET', KEYS[1], 'charges')
if ARGV[2] == 'reserved' or ARGV[2] == 'released' then
  if not charges then return 0 end
else
  if ARGV[2] == 'abandoned' and not charges then return 0 end
  if not redis.call('SET', KEYS[3], '1', 'NX', 'EX', MARK_TTL_S) then return 0 end
  charges = charges or '[]'
end

local time = redis.call('TIME')
local now_us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local amounts = cjson.decode(ARGV[3])
for _, charge in ipairs(cjson.decode(charges)) do
  local kind, dimension, key, limit, reserved = unpack(charge)
  local actual = amounts[dimension] or 0
  if kind == 'rate' then
    local tat = tonumber(redis.call('GET', key) or 0)
    local settled = math.max(tat, now_us) + (actual - reserved) * WINDOW_US / limit
    if settled > now_us then
      redis.call('SET', key, string.format('%.0f', settled), 'PX', TAT_TTL_MS)
    else
      redis.call('DEL', key)
    end
  else
    -- Not -reserved: of nothing that would be "-0", which Redis does not take for a number.
    redis.call('HINCRBY', key, 'reserved', 0 - reserved)
    if actual > 0 then redis.call('HINCRBY', key, 'spent', actual) end
  end
end

redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[2] == 'released' then return 1 end
redis.call('XADD', KEYS[4], '*', 'record', ARGV[4])
redis.call('EXPIRE', KEYS[4], ARGV[6])
for i = 8, #ARGV, 2 do redis.call('HINCRBY', KEYS[5], ARGV[5] .. ARGV[i], ARGV[i + 1]) end
redis.call('EXPIRE', KEYS[5], ARGV[7])
return 1
