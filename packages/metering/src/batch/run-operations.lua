-- Loaded after the operations: runs those of a batch, in their order. Each one runs whole or not at all; one that fails
-- does not affect the others.
--
-- KEYS     the keys of all operations, operation after operation
-- ARGV[1]  the time in microseconds, empty for Redis' own
-- ARGV[…]  each operation: its name, the number of its keys, the number of its arguments, its arguments
--
-- Returns the answer of each operation, in their order: what it returned, or an error.
local answers = {}
local k, a = 0, 1
while a < #ARGV do
  local operation = operations[ARGV[a + 1]]
  local key_count, arg_count = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  a = a + 3
  local is_done, answer = pcall(operation, k, a, key_count, arg_count)
  if not is_done then
    if type(answer) == 'table' then answer = answer.err end
    answer = { err = 'ERR ' .. string.gsub(tostring(answer), '[\r\n]', ' ') }
  end
  answers[#answers + 1] = answer
  k, a = k + key_count, a + arg_count
end
write_counters()
return answers
