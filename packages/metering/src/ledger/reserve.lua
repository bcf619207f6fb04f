-- reserve: sets aside what a request may consume at most, all of it or nothing.
--
-- Key 1        the reservation (hash), 2  the open reservations (sorted set, score: lease end in ms)
-- Key 2 + i    what charge i counts on: a rate's time (string) or a budget's account (hash)
-- Argument 1   reservation id, 2  lease in ms, 3  subject and estimate (JSON)
-- 3 + 4(i - 1) + 1..4  charge i: "rate" or "budget", dimension, limit, amount
--
-- Returns {0, remaining of each charge...}, or {i, wait in ms, remaining} for the first charge i that does not fit.
-- The wait is -1 if waiting does not help. A reservation that exists already is left as it is: {-1}.
function operations.reserve(k, a, key_count)
  local reservation, open, id = KEYS[k + 1], KEYS[k + 2], ARGV[a + 1]
  if call('EXISTS', reservation) == 1 then return { -1 } end
  check_type('ZSCORE', open, id)

  local lease_ms = amount(ARGV[a + 2], 'lease')
  local charges, tats, answer = {}, {}, { 0 }
  for i = 1, key_count - 2 do
    local base = a + 3 + 4 * (i - 1)
    local key, kind, dimension = KEYS[k + 2 + i], ARGV[base + 1], ARGV[base + 2]
    local limit, taken = amount(ARGV[base + 3], 'limit'), amount(ARGV[base + 4], dimension)
    if kind == 'rate' then
      local tat, left, wait = take_from_rate(key, limit, taken)
      if not tat then return { i, wait, left } end
      tats[i], answer[i + 1] = tat, left
    else
      local account = account_of(key)
      if account.is_new then check_filled() end
      local left = limit - account.spent - account.reserved
      if taken > left then return { i, -1, math.max(0, left) } end
      answer[i + 1] = left - taken
    end
    charges[i] = { kind, dimension, key, limit, taken }
  end

  call('HSET', reservation, 'about', ARGV[a + 3], 'charges', #charges > 0 and cjson.encode(charges) or '[]')
  call('ZADD', open, whole(now_ms + lease_ms), id)
  for i, charge in ipairs(charges) do
    local _, _, key, _, taken = unpack(charge)
    if not tats[i] then
      change_account(key, taken, 0)
    elseif taken > 0 then
      change_rate(key, tats[i])
    end
  end
  return answer
end
