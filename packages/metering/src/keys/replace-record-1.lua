-- Replaces a key's record if nobody has changed it meanwhile.
-- KEYS[1] the record
-- ARGV[1] the record as it was read, ARGV[2] the record as it shall be
-- Returns 1 if replaced, 0 if it had changed.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2])
  return 1
end
return 0
