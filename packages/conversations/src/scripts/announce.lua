-- Notes files that are about to be written, so that those which no record comes to refer to are removed later.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2]  until when a record has to refer to them, in ms from now, ARGV[3…] their names
local due = now_ms + tonumber(ARGV[2])
for at = 3, #ARGV do redis.call('ZADD', KEYS[9], due, ARGV[at]) end
sweep_by(due)
return 1
