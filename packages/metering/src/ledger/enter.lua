-- enter: lets a request in (admit) and, if it is let in, sets aside what it may consume (reserve).
--
-- Keys         those of admit, then those of reserve
-- Argument 1   the number of admit's keys, 2  of its arguments; then its arguments, then those of reserve
--
-- Returns admit's answer, and reserve's where the request was let in. A refused reservation does not undo the admission.
function operations.enter(k, a, key_count)
  local admit_keys, admit_args = amount(ARGV[a + 1], 'keys'), amount(ARGV[a + 2], 'arguments')
  local admitted = operations.admit(k, a + 2, admit_keys, admit_args)
  if admitted[1] ~= 0 then return { admitted } end
  return { admitted, operations.reserve(k + admit_keys, a + 2 + admit_args, key_count - admit_keys) }
end
