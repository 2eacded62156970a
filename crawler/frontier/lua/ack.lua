-- ack: say how leased URLs ended. Checked against the visit's fencing token: what a stale worker says about a
-- visit that was reclaimed meanwhile is refused and counted. The links of a page are pushed before this step.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, longest back-off of a failing host in ms, factor to stretch it by, then for each visit:
--          fence, host, ms since its last fetch began, ms to block the host, failed (1 yes, 0 no, -1 unknown),
--          ms that robots.txt is known for (0: unchanged), ms between requests that it asks for (0: none; read
--          only when robots.txt is known), and six lists, each with its length first:
--          pages (id), otherwise done (id), retries (id, delay ms, entry), dead (id, reason, detail), given back (id),
--          to be crawled again (id, delay ms, entry, how it ended: "new" or known "page", "unchanged", "missed")
-- returns  {outcomes taken, outcomes refused as stale}
--
-- An ack whose answer was lost can be sent again: its outcomes are then stale, and nothing happens twice.

local tag, crawl, backoff_max, jitter = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local base = tag .. ':' .. crawl .. ':'
local counts = base .. 'counts'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- The first write is a deletion, which a full Redis allows, and after it the rest of the script is allowed too:
-- whatever was finished can be reported, and makes room.
redis.call('DEL', base .. 'room')

-- include host

local at = 4 -- where in ARGV we are
local taken, stale, done = 0, 0, 0
local totals, fetched = {}, {} -- what becomes of the counts; pages by host
local finished, graves = {}, {} -- every URL taken, as fence and id; what is written about the dead
local known, changed = {}, {} -- records of hosts; those to be written
local over = {} -- visits that end

local function count(name, amount)
    totals[name] = (totals[name] or 0) + amount
end

-- Takes one URL out of its visit; answers whether it was there.
local function take(record, id)
    local ids = record[HELD]
    local first = #id == 8 and find_id(ids, id)
    if not first then
        stale = stale + 1
        return false
    end
    record[HELD] = string.sub(ids, 1, first - 1) .. string.sub(ids, first + 8)
    taken = taken + 1
    finished[taken] = record[FENCE] .. id
    return true
end

-- Class, score and entry of a leased URL.
local function read(record, id)
    local class, score, _, entry = read_waiting(redis.call('HGET', base .. 'leased', record[FENCE] .. id) or '')
    return class or 'low', score or '0', entry or ''
end

local function bury(id, host, reason, detail, entry)
    graves[#graves + 1], graves[#graves + 2] = id, epitaph(reason, now, host, detail, entry)
    count('dead', 1)
    count('dead:' .. reason, 1)
end

-- Back into a queue, or among the retries, where an equal entry may be already: the two are one URL then.
local function put_back(added)
    if added == 1 then
        count('queued', 1)
    else
        count('accepted', -1)
        redis.call('HINCRBY', base .. 'drops', 'duplicate', 1)
    end
end

-- Queued for a time of its own, with the class and score that it had.
local function postpone(list, record, host, id, delay, entry)
    local class, score = read(record, id)
    put_back(redis.call('ZADD', base .. list, now + delay, waiting(class, score, host, entry)))
end

-- A host has so many different pages: one that is crawled again is the same page.
local function count_page(host)
    fetched[host] = (fetched[host] or 0) + 1
    count('pages', 1)
end

-- Reads the six lists of outcomes.
local function settle(host, record)
    local number = tonumber(ARGV[at])
    for i = at + 1, at + number do
        if take(record, ARGV[i]) then
            count_page(host)
            done = done + 1
        end
    end
    at = at + 1 + number
    number = tonumber(ARGV[at])
    for i = at + 1, at + number do
        if take(record, ARGV[i]) then done = done + 1 end
    end
    at = at + 1 + number
    number = tonumber(ARGV[at])
    for i = at + 1, at + 3 * number, 3 do
        if take(record, ARGV[i]) then
            postpone('later', record, host, ARGV[i], ARGV[i + 1], ARGV[i + 2])
            count('retried', 1)
        end
    end
    at = at + 1 + 3 * number
    number = tonumber(ARGV[at])
    for i = at + 1, at + 3 * number, 3 do
        if take(record, ARGV[i]) then
            local _, _, entry = read(record, ARGV[i])
            bury(ARGV[i], host, ARGV[i + 1], ARGV[i + 2], entry)
        end
    end
    at = at + 1 + 3 * number
    number = tonumber(ARGV[at])
    for i = at + 1, at + number do
        if take(record, ARGV[i]) then
            local class, score, entry = read(record, ARGV[i])
            if entry == '' then
                bury(ARGV[i], host, 'poisoned', '', '') -- what was leased is gone from Redis
            else
                put_back(enqueue(base .. 'q:' .. class .. ':' .. host, score, entry))
                ready(crawl .. '|' .. class, now, host)
            end
        end
    end
    at = at + 1 + number
    number = tonumber(ARGV[at])
    for i = at + 1, at + 4 * number, 4 do
        if take(record, ARGV[i]) then
            postpone('again', record, host, ARGV[i], ARGV[i + 1], ARGV[i + 2])
            local ended = ARGV[i + 3]
            if ended == 'new' then
                count_page(host)
            else
                count(ended == 'page' and 'pages' or ended, 1)
            end
        end
    end
    at = at + 1 + 4 * number
end

local NOBODY = { [HELD] = '' } -- stands for a visit that is no longer the worker's: all its outcomes are stale

while at < #ARGV do
    local fence, host, idle, block = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
    local failed, robots, interval = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
    at = at + 7
    local record = known[host] or recall(host)
    known[host] = record
    if record[FENCE] ~= fence then
        settle(host, NOBODY)
    else
        if record[HELD] == NO_URLS then
            local before = stale
            settle(host, NOBODY)
            if robots > 0 or stale == before then record[HELD] = '' end
        else
            settle(host, record)
        end
        -- The bucket refills from the visit's last fetch, not from its lease: a worker that fetched late
        -- must not be followed at once by another that finds a full bucket.
        record[AT] = math.max(record[AT], now - idle)
        if failed == 1 then
            record[FAILS] = record[FAILS] + 1
            block = math.max(block, math.ceil(math.min(1000 * 2 ^ (record[FAILS] - 1) * jitter, backoff_max)))
        elseif failed == 0 then
            record[FAILS] = 0
        end
        if block > 0 then record[BLOCKED] = math.max(record[BLOCKED], now + block) end
        if robots > 0 then
            record[ROBOTS], record[INTERVAL] = now + robots, interval
            if interval > 0 then -- robots.txt was a request too: the next one waits
                record[TOKENS], record[NEXT_MS], record[FULL_MS] = 0, interval, math.max(record[FULL_MS], interval)
            end
        end
        if record[HELD] == '' then
            release(host, record)
            over[#over + 1] = fence .. '|' .. crawl .. '|' .. host
        elseif record[NEXT_MS] < 0 and record[WAITING] ~= '' and not first_other(record, crawl) then
            wake(host, record) -- there is room in the visit, which its owner may join
        end
        changed[host] = record
    end
end

write('HDEL', base .. 'leased', finished)
write('ZREM', tag .. ':visits', over)
put_away(base, graves)
write_ready()
remember_all(changed)

if taken > 0 then
    count('leased', -taken)
    count('done', done)
    -- Crashes of a URL are forgotten when it ended well, or is known to have failed by itself.
    if redis.call('EXISTS', base .. 'crashes') == 1 then
        local ids = {}
        for i, name in ipairs(finished) do ids[i] = string.sub(name, -8) end
        write('HDEL', base .. 'crashes', ids)
    end
end
local hosts = {}
for host in pairs(fetched) do hosts[#hosts + 1] = host end
for from = 1, #hosts, 2000 do
    local last, sums = math.min(from + 1999, #hosts), {}
    local before = redis.call('HMGET', base .. 'pages', unpack(hosts, from, last))
    for i, number in ipairs(before) do
        local host = hosts[from + i - 1]
        sums[#sums + 1], sums[#sums + 2] = host, string.format('%.0f', tonumber(number or 0) + fetched[host])
    end
    redis.call('HSET', base .. 'pages', unpack(sums))
end
if stale > 0 then count('stale', stale) end
for name, amount in pairs(totals) do
    if amount ~= 0 then redis.call('HINCRBY', counts, name, amount) end
end
return { taken, stale }
