-- Loaded before every script of this package. A script checks all its arguments and all that it reads with these
-- functions before its first write: Redis does not roll back a script that fails.

-- The largest whole number that JavaScript holds exactly.
local MAX_AMOUNT = 9007199254740991

-- A whole number from 0 on, as a number; else the script ends. The error never quotes the text: it may be anything.
local function amount(value, what)
  local number = tonumber(value)
  if not number or number < 0 or number > MAX_AMOUNT or number ~= math.floor(number) then
    error('invalid amount: ' .. what)
  end
  return number
end

-- A counter as Redis keeps it, to which an amount can be added exactly; one that is not there yet is 0.
local function counter(value, what)
  if not value then return 0 end
  local number = string.find(value, '^-?%d+$') and tonumber(value)
  if not number or math.abs(number) > MAX_AMOUNT then error('invalid counter: ' .. what) end
  return number
end

-- Microseconds since 1970. An empty argument means Redis' clock, which all replicas use; tests give a time.
local function clock(argument)
  if argument ~= '' then return amount(argument, 'time') end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- When a bucket will be full again, in microseconds; 0 if nothing has been taken from it.
local function full_at(key)
  local time = tonumber(redis.call('GET', key) or 0)
  if not time or time ~= time then error('invalid time of a bucket') end
  return time
end
