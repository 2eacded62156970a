-- host: what lease, ack, reclaim and block know of a host, whichever crawl they serve. Included into those scripts
-- after their locals `tag` (the partition's) and `now` (ms).
--
-- {p}:polite:<host> is one string, a msgpack array, so that a visit costs one read and one write of it on each side:
-- what a script costs is mostly what it writes.
--
-- A host with queued URLs is, for each crawl and class, in that crawl's ready list, or named in WAITING of a
-- record that is locked, or in the crawl's set of blocked hosts. So it always comes back.

local TOKENS = 1 -- in the bucket at the time AT; -1: never used
local AT = 2 -- ms; the bucket refills from here
local NEXT_MS = 3 -- from AT until the bucket has a token again; -1: no limit, the visit may be joined by its owner
local FULL_MS = 4 -- from AT until the bucket is full and may be forgotten
local BLOCKED = 5 -- ms; the host is left alone until then
local INTERVAL = 6 -- ms between requests, by the host's own Crawl-delay; 0: none
local ROBOTS = 7 -- ms; its robots.txt is known until then
local FAILS = 8 -- failures in a row
local FENCE = 9 -- the visit that has the host; '' when it is free
local OWNER = 10 -- the worker whose visit it is
local CRAWL = 11 -- the crawl whose visit it is
local HELD = 12 -- the ids still leased in that visit, eight bytes each; or NO_URLS
local WAITING = 13 -- who found the host locked, first come first: "crawl|class crawl|class "
local TURN = 14 -- the crawl that waited longest when the last visit ended; '' when nobody else did
local TURN_UNTIL = 15 -- ms; until then the host is kept for that crawl
local LOCK = 16 -- ms; how long a lock of the visit lasts when it is not renewed
local NO_URLS = 'robots' -- the visit is for a request that is no queued URL, such as robots.txt
local REQUESTS = '@requests' -- stands for a crawl where such a request has the host; see acquire.lua
local FOREVER = 9007199254740991
local TURN_MS = 1000 -- longer than a worker sleeps between two looks at the frontier
local MEMORY_MS = 3600000 -- how long failures in a row, or a Crawl-delay without robots.txt, are remembered

local function recall(host)
    local packed = redis.pcall('GET', tag .. ':polite:' .. host)
    if type(packed) == 'string' then
        local sound, record = pcall(cmsgpack.unpack, packed)
        if sound and type(record) == 'table' and #record == LOCK then return record end
    end
    return { -1, 0, 0, 0, 0, 0, 0, 0, '', '', '', '', '', '', 0, 0 }
end

-- Records are written together at the end of a script. A host that is locked or blocked for good is remembered for as
-- long as that lasts, any other until nothing in its record makes a difference any more.
local function remember_all(records)
    local lasting = {}
    for host, record in pairs(records) do
        local key, packed = tag .. ':polite:' .. host, cmsgpack.pack(record)
        if record[FENCE] ~= '' or record[BLOCKED] >= FOREVER then
            lasting[#lasting + 1], lasting[#lasting + 2] = key, packed
        else
            local last = math.max(now + 1000, record[BLOCKED], record[ROBOTS], record[TURN_UNTIL],
                record[AT] + record[FULL_MS])
            if record[FAILS] > 0 or record[INTERVAL] > 0 then last = last + MEMORY_MS end
            redis.call('SET', key, packed, 'PX', math.ceil(last - now))
        end
    end
    for first = 1, #lasting, 4000 do -- Lua's stack holds no more than about 8,000 arguments
        redis.call('MSET', unpack(lasting, first, math.min(first + 3999, #lasting)))
    end
end

local function remember(host, record)
    remember_all({ [host] = record })
end

local function is_waiting(record, crawl, class)
    return string.find(' ' .. record[WAITING], ' ' .. crawl .. '|' .. class .. ' ', 1, true) ~= nil
end

local function wait_for(record, crawl, class)
    if not is_waiting(record, crawl, class) then record[WAITING] = record[WAITING] .. crawl .. '|' .. class .. ' ' end
end

-- The crawl, other than this one, that has waited longest for the host.
local function first_other(record, crawl)
    if record[WAITING] == '' then return nil end
    for other in string.gmatch(record[WAITING], '(%S+)|') do
        if other ~= crawl then return other end
    end
    return nil
end

-- Hosts that come back into ready lists: score, host, … by crawl|class, so that one command writes them all.
local ready_at = {}

local function ready(name, at, host)
    local list = ready_at[name]
    if not list then
        list = {}
        ready_at[name] = list
    end
    list[#list + 1], list[#list + 2] = at, host
end

-- LT: a host that is ready sooner, for whatever reason, stays so.
local function write_ready()
    for name, list in pairs(ready_at) do
        local key = tag .. ':' .. string.gsub(name, '|', ':ready:')
        for first = 1, #list, 4000 do
            redis.call('ZADD', key, 'LT', unpack(list, first, math.min(first + 3999, #list)))
        end
    end
end

-- Everybody who waits for the host gets it back in the ready list, for when it may next be visited.
local function wake(host, record)
    local at = now
    if record[NEXT_MS] > 0 then at = math.max(at, record[AT] + record[NEXT_MS]) end
    if record[BLOCKED] < FOREVER then at = math.max(at, record[BLOCKED]) end
    for name in string.gmatch(record[WAITING], '%S+') do
        if name ~= REQUESTS .. '|' then ready(name, at, host) end -- who waits with acquire asks again by itself
    end
    record[WAITING] = ''
    return at
end

local function release(host, record)
    local other = first_other(record, record[CRAWL])
    local at = wake(host, record)
    record[FENCE], record[OWNER], record[CRAWL], record[HELD] = '', '', '', ''
    if other then record[TURN], record[TURN_UNTIL] = other, at + TURN_MS end
end

-- Tokens per ms (0: no limit) and the size of the host's bucket.
local function bucket_of(record, rate, burst)
    if record[INTERVAL] > 0 and (rate == 0 or 1 / record[INTERVAL] < rate) then
        return 1 / record[INTERVAL], 1 -- the host's own Crawl-delay can only slow us down
    end
    return rate, burst
end

local function tokens_in(record, host_rate, bucket)
    if record[TOKENS] < 0 or host_rate == 0 then return bucket end
    return math.min(bucket, record[TOKENS] + math.max(0, now - record[AT]) * host_rate)
end

-- Leaves so many tokens in the bucket.
local function spend(record, tokens, host_rate, bucket)
    if host_rate == 0 then
        record[NEXT_MS] = -1
        return
    end
    -- Another crawl may have a slower idea of when the bucket is full.
    record[FULL_MS] = math.max(math.ceil((bucket - tokens) / host_rate), record[AT] + record[FULL_MS] - now)
    record[NEXT_MS] = math.max(0, math.ceil((1 - tokens) / host_rate))
    record[TOKENS], record[AT] = tokens, now
end

-- Puts an entry into its queue; answers 1, or 0 when it was there already. A key that somebody overwrote with
-- another type is set aside, so that it spoils one queue once and not every step for ever.
local function enqueue(queue, score, entry)
    local added = redis.pcall('ZADD', queue, score, entry)
    if type(added) == 'number' then return added end
    if string.find(added.err, 'WRONGTYPE', 1, true) then
        redis.call('RENAME', queue, tag .. ':alien:' .. string.sub(queue, #tag + 2))
    end
    return redis.call('ZADD', queue, score, entry)
end

-- A URL outside its queue: among the retries, or leased. An entry does not name its host, since most are in a queue
-- that does.
local function waiting(class, score, host, entry)
    return class .. ' ' .. score .. ' ' .. host .. ' ' .. entry
end

local function read_waiting(packed)
    return string.match(packed, '^(%a+) (%S+) (%S+) (.*)$')
end

-- What is written about a dead URL; the host of something that is no entry may be unknown.
local function epitaph(reason, now, host, detail, entry)
    if host == '' then host = '-' end
    return reason .. ' ' .. now .. ' ' .. host .. ' ' .. #detail .. ' ' .. detail .. entry
end

-- Lua's stack holds no more than about 8,000 arguments.
local function write(command, key, list)
    for from = 1, #list, 4000 do redis.call(command, key, unpack(list, from, math.min(from + 3999, #list))) end
end

-- Puts away the dead, a list of ids and epitaphs. The event log is told of them later: see untold.lua.
local function put_away(base, graves)
    local untold = {}
    for i = 1, #graves, 2 do untold[i], untold[i + 1] = 0, graves[i] end
    write('HSET', base .. 'dead', graves)
    write('ZADD', base .. 'untold', untold)
end

-- Where an id is among others, eight bytes each; nothing when it is not there.
local function find_id(ids, id)
    local first = string.find(ids, id, 1, true)
    while first and first % 8 ~= 1 do first = string.find(ids, id, first + 1, true) end
    return first
end
