-- push: accept a batch of URLs. Marking as seen and queueing are one step, so that a crash loses nothing
-- and of two workers that find the same link exactly one wins.
--
-- KEYS[1]  the partition's tag, such as {ow:0}
-- ARGV     crawl, page cap per host (0: none), then groups of
--          host, class, number of URLs, and for each: fingerprint, bucket, score, entry
-- returns  one digit per URL, in order: 1 accepted, 0 seen before, 2 refused because its host has its pages
--
-- The first write is a SADD, which a full Redis refuses: nothing has happened then, and the batch can be sent again.
-- So it can when the answer was lost: what is seen already is not counted twice.

local tag, crawl, cap = KEYS[1], ARGV[1], tonumber(ARGV[2])
local base = tag .. ':' .. crawl .. ':'
local seen = base .. 'seen:'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local digits, answered, accepted, known, refused = {}, 0, 0, 0, 0
local ready = { high = {}, medium = {}, low = {} }

-- A key that somebody overwrote with another type is set aside: an error half way through would lose what was
-- marked as seen and not yet queued.
local function again(failure, command, key, ...)
    if string.find(failure.err, 'WRONGTYPE', 1, true) then
        redis.call('RENAME', key, tag .. ':alien:' .. string.sub(key, #tag + 2))
    end
    return redis.call(command, key, ...)
end

local at = 3
while at < #ARGV do
    local host, class, last = ARGV[at], ARGV[at + 1], at + 2 + 4 * ARGV[at + 2]
    local full = cap > 0 and tonumber(redis.call('HGET', base .. 'pages', host) or 0) >= cap
    local added, size = {}, 0
    for i = at + 3, last, 4 do
        local is_new = 2
        if full then
            refused = refused + 1
        else
            local key = seen .. ARGV[i + 1]
            is_new = redis.pcall('SADD', key, ARGV[i])
            if type(is_new) == 'table' then is_new = again(is_new, 'SADD', key, ARGV[i]) end
        end
        answered = answered + 1
        digits[answered] = is_new
        if is_new == 1 then
            added[size + 1], added[size + 2] = ARGV[i + 2], ARGV[i + 3]
            size = size + 2
        elseif is_new == 0 then
            known = known + 1
        end
    end
    if size > 0 then
        local queue, queued = base .. 'q:' .. class .. ':' .. host, 0
        for first = 1, size, 2000 do -- Lua's stack holds no more than about 8,000 arguments
            local stop = math.min(first + 1999, size)
            local number = redis.pcall('ZADD', queue, unpack(added, first, stop))
            if type(number) == 'table' then number = again(number, 'ZADD', queue, unpack(added, first, stop)) end
            queued = queued + number
        end
        accepted = accepted + queued
        known = known + size / 2 - queued -- queued, and yet not seen: what it was seen in had been overwritten
        -- A queue that was not empty has its host in a ready list, or parked with the visit that is under way: most
        -- links of a page lead to the host that is being visited, and would wake it for nothing.
        if redis.call('ZCARD', queue) == queued then
            local list = ready[class]
            list[#list + 1], list[#list + 2] = now, host
        end
    end
    at = last + 1
end

for class, list in pairs(ready) do
    for first = 1, #list, 4000 do
        redis.call('ZADD', base .. 'ready:' .. class, 'NX', unpack(list, first, math.min(first + 3999, #list)))
    end
end
if accepted > 0 then
    redis.call('HINCRBY', base .. 'counts', 'accepted', accepted)
    redis.call('HINCRBY', base .. 'counts', 'queued', accepted)
end
if known > 0 then redis.call('HINCRBY', base .. 'drops', 'duplicate', known) end
if refused > 0 then redis.call('HINCRBY', base .. 'drops', 'host_cap', refused) end
return table.concat(digits)
