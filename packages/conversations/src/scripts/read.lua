-- Reads a record, and makes its tree live on.
--
-- KEYS     those of the prelude
-- ARGV[1]  the owner, ARGV[2]  its key
-- ARGV[3]  how long its tree lives from now on, in ms; empty: as long as before
-- ARGV[4]  which of its items: `none`, `output`, `input` (its own), `window` (all that led to it, and its output)
-- ARGV[5]  how many items at most, ARGV[6], ARGV[7]  where to go on: a record and a node; empty: at the end
--
-- Returns false for an unknown one, nothing for one that may be in the database. Else the key of the record that it goes back to and that is gone (then no window; its own,
-- where it was removed meanwhile), its members, where to go on (two empty strings: nothing is left), and the items, last
-- first, five values each: node, id, maker, text, and the name of its file where the text is there.
local record = find_record(ARGV[2])
if not record then return may_be_moved(ARGV[2]) and {} end
local missing = missing_ancestor(record)
-- A Redis that refuses writes can still be read.
pcall(keep_tree, record.root, ARGV[3])

local reply = {
  missing or '', record.previous, record.depth, record.items, record.bytes, record.head, record.next or '', record.data,
}
local files = {}
for index, digest in ipairs(record.parts) do
  local part = unpacked(KEYS[5], digest)
  files[index] = part and part.name or ''
end
reply[9], reply[10], reply[11] = table.concat(files, ' '), '', ''
local follows = ARGV[4] == 'window'
if ARGV[4] == 'none' or (missing and follows) then return reply end

local at_key, at_record = ARGV[2], record
if ARGV[6] ~= '' then
  at_key = ARGV[6]
  at_record = unpacked(KEYS[1], at_key)
  if not at_record then
    reply[1] = at_key
    return reply
  end
end
local node = ARGV[6] ~= '' and ARGV[7] or (ARGV[4] == 'input' and record.inputHead or record.head)
local stop = ARGV[4] == 'output' and record.inputHead or ARGV[4] == 'input' and record.after or ''
local left = tonumber(ARGV[5])
while true do
  while node ~= stop and left > 0 do
    local found = unpacked(KEYS[2], node)
    if not found then
      reply[1] = at_key
      return reply
    end
    local part = found.part ~= '' and unpacked(KEYS[5], found.part)
    reply[#reply + 1] = node
    reply[#reply + 1] = found.id
    reply[#reply + 1] = found.maker
    reply[#reply + 1] = found.json
    reply[#reply + 1] = part and part.name or ''
    left = left - 1
    node = found.parent
  end
  if left == 0 and node ~= stop then
    reply[10], reply[11] = at_key, node
    return reply
  end
  if not follows or at_record.previous == '' then return reply end
  at_key = at_record.previous
  at_record = unpacked(KEYS[1], at_key)
  if not at_record then
    reply[1] = at_key
    return reply
  end
  node = at_record.head
end
