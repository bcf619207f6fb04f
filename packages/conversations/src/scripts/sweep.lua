-- Removes some of an owner's expired records, and says when to sweep next.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2]  how many records at most
--
-- Returns how many were removed, then the files to remove.
local left = tonumber(ARGV[2])
for _, root in ipairs(redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', now_ms, 'LIMIT', 0, left)) do
  local first = unpacked(KEYS[1], root)
  if first and first.root == root then
    remove_record(root, first)
    left = left - 1
  end
  for _, member in ipairs(records_of(root, left)) do
    local key = string.sub(member, #root + 2)
    local record = unpacked(KEYS[1], key)
    if record then remove_record(key, record) else redis.call('ZREM', KEYS[6], member) end
    left = left - 1
  end
  if left <= 0 then break end
  redis.call('ZREM', KEYS[7], root)
  redis.call('ZREM', KEYS[11], root)
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[9], '-inf', now_ms, 'LIMIT', 0, 100)) do
  unused_files[#unused_files + 1] = name
end
local due = nil
for _, timed in ipairs({ KEYS[7], KEYS[9] }) do
  local first = redis.call('ZRANGE', timed, 0, 0, 'WITHSCORES')[2]
  if first and (due == nil or tonumber(first) < due) then due = tonumber(first) end
end
if due then redis.call('ZADD', KEYS[10], math.max(due, now_ms + 1000), ARGV[1]) else redis.call('ZREM', KEYS[10], ARGV[1]) end
return with_unused_files({ tonumber(ARGV[2]) - left })
