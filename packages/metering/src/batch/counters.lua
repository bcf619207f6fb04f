-- Loaded before the operations: the counters that all of them share.
--
-- An operation gets `k` and `a`: its keys begin at KEYS[k + 1], its arguments at ARGV[a + 1]. It returns its answer. It
-- first reads and checks all that it needs, then writes its own keys, and last changes the counters below. A batch
-- reads and writes each counter once, at its end, however many operations change it.
local KEYS, ARGV, call = KEYS, ARGV, redis.call
local operations = {}

-- One time for the whole batch.
local now_us = clock(ARGV[1])
local now_ms = math.floor(now_us / 1000)

local WINDOW_US = 60000000
local TAT_TTL_MS = '120000'
local ACCOUNT_TTL_S = 100 * 86400
local TOLERANCE_S = 60
-- A division rounds; this is far below one unit.
local ROUNDING = 0.0001

-- A number as text: Redis' own conversion of a Lua number is slow, and rounds beyond 17 digits.
local function whole(number) return string.format('%d', math.floor(number + 0.5)) end

-- Rates: when the bucket will be full again (GCRA), by key.
local rates, changed_rates = {}, {}

local function rate_of(key)
  local tat = rates[key] or full_at(key)
  rates[key] = tat
  return tat
end

-- Returns a rate's time with `taken` units out of it, and what is left then. Where they do not fit: nil, what is left,
-- and how long to wait in ms, -1 where waiting does not help.
local function take_from_rate(key, limit, taken)
  local interval_us = WINDOW_US / limit
  -- A clock that jumped back must not block longer than a window.
  local tat = math.min(math.max(rate_of(key), now_us), now_us + WINDOW_US)
  local left = (WINDOW_US - (tat - now_us)) / interval_us
  if taken > left + ROUNDING then
    local wait = -1
    if taken <= limit then wait = math.ceil((taken - left) * interval_us / 1000) end
    return nil, math.max(0, math.floor(left + ROUNDING)), wait
  end
  return tat + taken * interval_us, math.max(0, math.floor(left - taken + ROUNDING))
end

local function change_rate(key, tat) rates[key], changed_rates[key] = tat, tat end

-- Budgets' accounts, by key.
local accounts, changed_accounts = {}, {}

local is_filled
-- Ends the operation here if Redis was emptied, and has not yet again what the database knows: what is not there may exist.
local function check_filled()
  if is_filled == nil then is_filled = call('EXISTS', 'gateway:{meter}:epoch') == 1 end
  if not is_filled then error('accounts are being read again') end
end

local function account_of(key)
  local account = accounts[key]
  if not account then
    local found = call('HMGET', key, 'spent', 'reserved')
    account = { spent = counter(found[1], 'spent'), reserved = counter(found[2], 'reserved') }
    account.is_new = not found[1] and not found[2]
    accounts[key] = account
  end
  return account
end

local function change_account(key, reserved, spent)
  local account = accounts[key]
  account.reserved, account.spent = account.reserved + reserved, account.spent + spent
  account.has_spent = account.has_spent or spent > 0
  changed_accounts[key] = account
end

local checked = {}
-- Ends the operation here if the key holds another type than `command` reads. Nothing in a batch changes a type.
local function check_type(command, key, ...)
  if checked[key] then return end
  call(command, key, ...)
  checked[key] = true
end

local kept = {}
-- Makes a key stay for about so many seconds. It reads first: a write also goes to the append-only file.
-- True if it set the key's time.
local function keep(key, seconds)
  if kept[key] then return false end
  kept[key] = true
  local left = call('TTL', key)
  if left >= 0 and math.abs(left - seconds) < TOLERANCE_S then return false end
  call('EXPIRE', key, whole(seconds))
  return true
end

-- If the first write of a batch succeeds, these succeed too: each key's type has been checked.
local function write_counters()
  for key, tat in pairs(changed_rates) do
    if tat > now_us then call('SET', key, whole(tat), 'PX', TAT_TTL_MS) else call('DEL', key) end
  end
  for key, account in pairs(changed_accounts) do
    if account.has_spent then
      call('HSET', key, 'reserved', whole(account.reserved), 'spent', whole(account.spent))
    else
      call('HSET', key, 'reserved', whole(account.reserved))
    end
    keep(key, ACCOUNT_TTL_S)
  end
end
