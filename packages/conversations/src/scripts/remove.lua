-- Removes a record and what only it held. What continues it breaks.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2]  its key
--
-- Returns whether it was there (0 or 1; -1: it may be in the database), then the files that nothing refers to any more.
local record = unpacked(KEYS[1], ARGV[2])
if not record then return { may_be_moved(ARGV[2]) and -1 or 0 } end
local was_alive = is_expired(record.root) and 0 or 1
remove_record(ARGV[2], record)
return with_unused_files({ was_alive })
