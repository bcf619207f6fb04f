-- What all scripts of the turns share. `prefix` begins every key of the queues; all lie in one slot of a cluster.
--
-- A job's score in BullMQ's set of prioritized jobs is the virtual time at which its turn begins (start-time fair queueing): a
-- key's jobs lie one step apart, a step is the shorter the greater the key's weight, and a key that comes back after a pause begins
-- at the present. What BullMQ puts back itself (its priority 1) lies below, and so comes first.

local BEGIN = 2 ^ 33
-- The range of scores of one priority. Ten of them stay below 2^53, so that all scores are exact.
local RANGE = 2 ^ 49
-- Of a key of weight 1.
local STEP = 2 ^ 14
local DAY_S = 86400
local DAY_MS = DAY_S * 1000
-- BullMQ's scores of delayed jobs are milliseconds times this.
local DELAYED_UNIT = 4096

local function queue_key(prefix, queue, name)
  return prefix .. ':' .. queue .. ':' .. name
end

local function turn_key(prefix, ...)
  return prefix .. ':turns:' .. table.concat({ ... }, ':')
end

local function exact(number)
  return string.format('%.0f', number)
end

local function step_of(weight)
  return math.floor(STEP / weight)
end

-- The virtual time at which the next job of this priority begins; nil while none waits.
local function next_start(prefix, queue, priority)
  local first = BEGIN + priority * RANGE
  local head = redis.call('ZRANGEBYSCORE', queue_key(prefix, queue, 'prioritized'), exact(first), exact(first + RANGE - 1),
    'WITHSCORES', 'LIMIT', 0, 1)
  return head[2] and tonumber(head[2])
end

local function finish_key(prefix, queue, priority, key_id)
  return turn_key(prefix, queue, 'finish', priority, key_id)
end

-- Puts a job where its key's turn is.
local function give_turn(prefix, queue, job_id, key_id, priority, weight)
  local last_key = turn_key(prefix, queue, 'last', priority)
  local present = next_start(prefix, queue, priority) or tonumber(redis.call('GET', last_key) or BEGIN + priority * RANGE)
  local finish = finish_key(prefix, queue, priority, key_id)
  local start = math.max(present, tonumber(redis.call('GET', finish) or 0))
  redis.call('ZADD', queue_key(prefix, queue, 'prioritized'), exact(start), job_id)
  redis.call('SET', finish, exact(start + step_of(weight)), 'EX', DAY_S)
  redis.call('SET', last_key, exact(math.max(start, present)), 'EX', DAY_S)
end

-- The jobs of a set that have not ended; those that ended are dropped.
local function count_unended(prefix, set)
  local count = 0
  for _, member in ipairs(redis.call('SMEMBERS', set)) do
    local queue, job_id = string.match(member, '^(%S+) (%S+)')
    local job = redis.call('HMGET', queue_key(prefix, queue, job_id), 'timestamp', 'finishedOn')
    if not job[1] or job[2] then
      redis.call('SREM', set, member)
    else
      count = count + 1
    end
  end
  return count
end

-- The jobs of a key that have been let in and have not ended.
local function count_running(prefix, key_id)
  return count_unended(prefix, turn_key(prefix, 'running', key_id))
end

local function add_running(prefix, queue, job_id, key_id)
  local running = turn_key(prefix, 'running', key_id)
  redis.call('SADD', running, queue .. ' ' .. job_id)
  redis.call('EXPIRE', running, DAY_S)
end

-- Jobs of a queue that no worker does: in turn, put back, left to another worker, and parked behind their key's limit.
local function count_waiting(prefix, queue)
  return redis.call('LLEN', queue_key(prefix, queue, 'wait'))
    + redis.call('ZCARD', queue_key(prefix, queue, 'prioritized'))
    + redis.call('ZCARD', queue_key(prefix, queue, 'delayed'))
end

local RATE_SAMPLE = 32
local RATE_AGE_MS = 600000

-- Milliseconds from one job's end to the next, by the last ones; nil where few have ended lately.
local function end_interval_ms(prefix, queue, now_ms)
  local ended = redis.call('ZREVRANGE', queue_key(prefix, queue, 'completed'), 0, RATE_SAMPLE - 1, 'WITHSCORES')
  local count = #ended / 2
  if count < 2 then return nil end
  local oldest_ms = tonumber(ended[#ended])
  if now_ms - oldest_ms > RATE_AGE_MS then return nil end
  return math.max(now_ms - oldest_ms, 1) / count
end
