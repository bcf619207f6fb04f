-- Adds the cost of a request whose reservation was lost to the accounts that it counts on, once for each id.
--
-- KEYS[1]  ids that have been added (set), KEYS[2]  what is there while Redis has all that the database has (string)
-- KEYS[3...]  the accounts (hashes), ARGV[1]  the request's id, ARGV[2]  micro-dollars
-- ARGV[3], ARGV[4]  how long ids and accounts are kept, in seconds
--
-- Returns 1 if added; 0 if it has been, or if the accounts are still to be written as the database has them.
local added = amount(ARGV[2], 'cost')
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
for i = 3, #KEYS do counter(redis.call('HGET', KEYS[i], 'spent'), 'spent') end
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('EXPIRE', KEYS[1], ARGV[3])
for i = 3, #KEYS do
  redis.call('HINCRBY', KEYS[i], 'spent', string.format('%d', added))
  redis.call('EXPIRE', KEYS[i], ARGV[4])
end
return 1
