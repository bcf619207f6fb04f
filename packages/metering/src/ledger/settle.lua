-- settle: turns a request into its usage record, once for each id: gives back what was reserved too much, takes what was
-- too little, appends the record. A missing reservation is not an error: Redis may have lost it.
--
-- Key 1  the reservation (hash), 2  the open reservations (sorted set), 3  ids that have their record, of the day on which
-- this request began (set), 4  the day's records (stream)
-- Argument 1   reservation id, 2  who settles
-- Argument 3…6  tokens, images, milliseconds of audio, micro-dollars, 7  the record (JSON)
-- Argument 8   how long records may wait for the database, in seconds
--
-- The record's entry also names the accounts that it was charged to (JSON), or says that its reservation was lost: then who
-- brings it into the database finds out which they are.
--
-- Who settles: "ended", the request itself, with or without a reservation; "abandoned", another process for one that is
-- gone; "released", a request that was not let in although it may have reserved: it leaves no record, and has no
-- arguments after these two.
--
-- Returns 1 when settled now, 0 when there is a record already, or nothing to settle.

-- Longer than the spool keeps a line on disk.
local SETTLED_TTL_S = 8 * 86400

-- What is given back to a charge or taken from it: of a rate the units, of a budget what was reserved and what is spent.
local function changes_of(reserved, used)
  local changes = {}
  for i, charge in ipairs(reserved ~= '[]' and cjson.decode(reserved) or {}) do
    local kind, dimension, key, limit, held = unpack(charge)
    limit, held = amount(limit, 'limit'), amount(held, 'reserved')
    local actual = used[dimension] or 0
    if kind ~= 'rate' then
      account_of(key)
    elseif actual ~= held then
      rate_of(key)
    end
    changes[i] = { kind = kind, key = key, limit = limit, held = held, actual = actual }
  end
  return changes
end

-- The accounts among what is charged, as JSON; nil where there is none.
local function accounts_in(changes)
  local names = {}
  for _, change in ipairs(changes) do
    if change.kind ~= 'rate' then names[#names + 1] = change.key end
  end
  return #names > 0 and cjson.encode(names) or nil
end

function operations.settle(k, a)
  local reservation, open, settled = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  local id, mode = ARGV[a + 1], ARGV[a + 2]
  local reserved = call('HGET', reservation, 'charges')
  local has_record = call('SISMEMBER', settled, id) == 1
  if not reserved and (has_record or mode ~= 'ended') then return 0 end
  local leaves_record = not has_record and mode ~= 'released'
  check_type('ZSCORE', open, id)

  -- All of it goes back if there is a record already, or if the request was not let in.
  local used = {}
  if leaves_record then
    used = {
      requests = 1,
      tokens = amount(ARGV[a + 3], 'tokens'),
      images = amount(ARGV[a + 4], 'images'),
      audioMs = amount(ARGV[a + 5], 'audio'),
      microUsd = amount(ARGV[a + 6], 'cost'),
    }
  end
  local changes = changes_of(reserved or '[]', used)

  if leaves_record then
    local records = KEYS[k + 4]
    local keep_records_s = amount(ARGV[a + 8], 'seconds')
    check_type('XLEN', records)
    -- The first write, because a stream can refuse an entry for its own reasons.
    if not reserved then
      call('XADD', records, '*', 'record', ARGV[a + 7], 'lost', '1')
    else
      local charged = accounts_in(changes)
      if charged then
        call('XADD', records, '*', 'record', ARGV[a + 7], 'accounts', charged)
      else
        call('XADD', records, '*', 'record', ARGV[a + 7])
      end
    end
    keep(records, keep_records_s)
    call('SADD', settled, id)
    keep(settled, SETTLED_TTL_S)
  end
  call('DEL', reservation)
  call('ZREM', open, id)
  for _, change in ipairs(changes) do
    local key, held, actual = change.key, change.held, change.actual
    if change.kind ~= 'rate' then
      change_account(key, 0 - held, actual)
    elseif actual ~= held then
      change_rate(key, math.max(rate_of(key), now_us) + (actual - held) * WINDOW_US / change.limit)
    end
  end
  return (leaves_record or mode == 'released') and 1 or 0
end
