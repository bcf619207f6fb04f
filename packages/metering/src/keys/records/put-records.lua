-- Writes records as the database has them, unless later versions are here, and what leads to them.
--
-- KEYS[1]  the versions of records (hash), and without a name the latest of them, KEYS[2...]  the records (strings)
-- ARGV[1]  the prefix of the names of secrets' hashes, then for each record: its name among the versions, its version, its text, empty
-- where it was deleted, its id, how many hashes lead to it, and these
--
-- Returns how many were written: not those of which this version or a later one is here.
local prefix = ARGV[1]

-- A record that comes after others were written must not end the script: all is checked first.
local records, at = {}, 2
for i = 2, #KEYS do
  local record = { key = KEYS[i], name = ARGV[at], version = ARGV[at + 1], text = ARGV[at + 2], id = ARGV[at + 3], leading = {} }
  record.number = amount(record.version, 'version')
  record.there = counter(redis.call('HGET', KEYS[1], record.name), 'version')
  record.before = redis.call('GET', record.key)
  local count = amount(ARGV[at + 4], 'hashes')
  for n = 1, count do record.leading[ARGV[at + 4 + n]] = true end
  records[#records + 1] = record
  at = at + 5 + count
end
local newest = counter(redis.call('HGET', KEYS[1], ''), 'version')

local function ends_of(record)
  local ending = {}
  local is_read, old = pcall(cjson.decode, record.before or '{}')
  if is_read and type(old) == 'table' and type(old.secrets) == 'table' then
    for _, secret in ipairs(old.secrets) do
      if type(secret) == 'table' and type(secret.hash) == 'string' and not record.leading[secret.hash] then
        ending[#ending + 1] = prefix .. secret.hash
      end
    end
  end
  return ending
end

local written, latest = 0, nil
for _, record in ipairs(records) do
  local is_here = record.there > record.number or (record.there == record.number and record.before)
  if not is_here then
    local ending = ends_of(record)
    redis.call('HSET', KEYS[1], record.name, record.version)
    if record.text == '' then redis.call('DEL', record.key) else redis.call('SET', record.key, record.text) end
    for hash in pairs(record.leading) do redis.call('SET', prefix .. hash, record.id) end
    if #ending > 0 then redis.call('DEL', unpack(ending)) end
    if record.number > newest then newest, latest = record.number, record.version end
    written = written + 1
  end
end
if latest then redis.call('HSET', KEYS[1], '', latest) end
return written
