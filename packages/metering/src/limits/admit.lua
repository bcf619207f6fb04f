-- Whether a request holds its slots under this id: then it has been admitted, and counted.
local function holds_slot(id, k, a, key_count)
  for i = 1, key_count do
    if ARGV[a + 1 + 2 * i] == 'slots' and call('ZSCORE', KEYS[k + i], id) then return true end
  end
  return false
end

-- admit: lets a request in when it fits every rate and every owner has a free slot, all or nothing.
--
-- Key i        what check i counts on: a rate's time (string) or an owner's running requests (sorted set, score: lease end in ms)
-- Argument 1   request id, 2  lease in ms
-- 1 + 2i       check i: "rate" or "slots", 2 + 2i  its limit
-- the last     only for a request that was delivered before: the id under which another process may have admitted it
--
-- Returns {0, remaining of each check...}, or {i, wait in ms, remaining} for the first check i that does not pass.
function operations.admit(k, a, key_count, arg_count)
  local id, lease_ms = ARGV[a + 1], amount(ARGV[a + 2], 'lease')
  local earlier_id = arg_count > 2 + 2 * key_count and ARGV[a + arg_count] or nil
  local is_counted = earlier_id and holds_slot(earlier_id, k, a, key_count)
  local taken = is_counted and 0 or 1
  local tats, answer = {}, { 0 }
  for i = 1, key_count do
    local key, kind, limit = KEYS[k + i], ARGV[a + 1 + 2 * i], amount(ARGV[a + 2 + 2 * i], 'limit')
    if kind == 'rate' then
      local tat, left, wait = take_from_rate(key, limit, taken)
      if not tat then return { i, wait, left } end
      tats[i], answer[i + 1] = tat, left
    else
      local running = call('ZCOUNT', key, '(' .. whole(now_ms), '+inf') - (1 - taken)
      if running >= limit then return { i, -1, 0 } end
      answer[i + 1] = limit - running - 1
    end
  end

  for i = 1, key_count do
    local key = KEYS[k + i]
    if not tats[i] then
      if is_counted then call('ZREM', key, earlier_id) end
      call('ZADD', key, whole(now_ms + lease_ms), id)
      -- Keeps the key at least for this lease, and drops the slots of replicas that ended.
      if keep(key, math.ceil(lease_ms / 1000) + TOLERANCE_S) then
        call('ZREMRANGEBYSCORE', key, '-inf', whole(now_ms))
      end
    end
  end
  for i, tat in pairs(tats) do change_rate(KEYS[k + i], tat) end
  return answer
end

-- free: frees a request's slot.
--
-- Key 1  an owner's running requests, argument 1  request id
function operations.free(k, a)
  local key = KEYS[k + 1]
  -- The key and its time to live end with its last member.
  kept[key] = nil
  return call('ZREM', key, ARGV[a + 1])
end
