-- Brings an account (hash) to what the database says that it has spent, unless more is known here.
--
-- KEYS[1]  the account, ARGV[1]  micro-dollars, ARGV[2]  how long it is kept, in seconds
--
-- Returns 1 if it was less, or unknown.
local found = redis.call('HGET', KEYS[1], 'spent')
local spent = amount(ARGV[1], 'cost')
if found and counter(found, 'spent') >= spent then return 0 end
redis.call('HSET', KEYS[1], 'spent', string.format('%d', spent))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
