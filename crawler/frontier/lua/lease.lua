-- lease: hand out URLs that may be fetched now. Chooses the class by weighted deficit round-robin among the
-- classes that have a ready host, then the host that has been ready longest, takes what its token bucket
-- allows, and locks the host: all URLs handed out of a host at once are one visit, under one fencing token.
-- Costs grow with the batch, not with the frontier: no step looks at more hosts than it serves or puts off.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, worker, wanted, most per visit, tokens per ms (0: no limit), burst, lock ms,
--          page cap per host (0: none), weights high, medium, low, 1 if robots.txt must be known first,
--          1 if pages are crawled again
-- returns  {state, ms until something may be ready (-1: nothing is waiting for a time), {visit, …}}
--          visit: {fence, host, class, kind, entry, …}; kind is "pages", or "robots" (then the one entry is
--          a queued URL of the host, still queued, that tells where its robots.txt is)
--
-- A worker that dies after this step is found by reclaim when the lock runs out; so is one that never got the answer.
-- What concerns one host is done in the loop; what can be written for all hosts together is written at the end.

local tag, crawl, worker = KEYS[1], ARGV[1], ARGV[2]
local wanted, visit_pages = tonumber(ARGV[3]), tonumber(ARGV[4])
local rate, burst, lock_ms, cap = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local weights = { tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]) }
local ask_robots, recrawl = ARGV[12] == '1', ARGV[13] == '1'
local base = tag .. ':' .. crawl .. ':'

local state = redis.call('GET', base .. 'state')
if state then return { state, -1, {} } end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local classes = { 'high', 'medium', 'low' }
local LOOK = 8 -- hosts read from a ready list at once
local DISCARD = 200 -- queue entries of a host over its cap that are put away in one look at it
local KNOWN = 0x97 -- how the entry of a page that was fetched before goes on after its id: as an array of seven

-- include host

local next_at = FOREVER
local queued, leased, dead = 0, 0, 0 -- what becomes of the counts
local reasons, graves = {}, {} -- dead, by reason; what is written about them

local function bury(id, host, entry, reason)
    graves[#graves + 1], graves[#graves + 2] = id, epitaph(reason, now, host, '', entry)
    reasons[reason] = (reasons[reason] or 0) + 1
    queued, dead = queued - 1, dead + 1
end

-- What waited for a time that has come joins the queue again.
local function join(key)
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if first[1] and tonumber(first[2]) <= now then
        for _, packed in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 64)) do
            redis.call('ZREM', key, packed)
            local class, score, host, entry = read_waiting(packed)
            local number = tonumber(score)
            if not number or number ~= number or not string.find(' high medium low ', ' ' .. class .. ' ', 1, true) then
                bury(packed, '', packed, 'poisoned')
            else
                if enqueue(base .. 'q:' .. class .. ':' .. host, score, entry) == 0 then
                    -- The same entry was queued meanwhile: the two are one URL, accepted once.
                    redis.call('HINCRBY', base .. 'counts', 'accepted', -1)
                    redis.call('HINCRBY', base .. 'drops', 'duplicate', 1)
                    queued = queued - 1
                end
                redis.call('ZADD', base .. 'ready:' .. class, 'NX', now, host)
            end
        end
        first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    end
    if first[2] then next_at = math.min(next_at, tonumber(first[2])) end
end

join(base .. 'later')
if recrawl then join(base .. 'again') end

local turns = redis.call('GET', base .. 'turns')
turns = turns and cmsgpack.unpack(turns) or { 0, 0, 0 }

local visits, fence = {}, nil
local known, changed = {}, {} -- records of hosts looked at; those to be written
local deadline = string.format('%.0f', now + lock_ms)
local entries, locks = {}, {} -- what goes into the hash of leased URLs, and into the list of visits
local moved, gone = { {}, {}, {} }, { {}, {}, {} } -- hosts with a new time in a ready list; hosts that leave it
local lines = { { from = 0, at = 1 }, { from = 0, at = 1 }, { from = 0, at = 1 } }
local most_looks = wanted * 2 + 16 -- hosts that are put off cost a look each; the rest is for the next call
local looks = most_looks

-- The next host of a class that may be looked at, or nothing. The ready lists are not written while this script
-- reads them: a host that was looked at is behind `at`.
local function next_host(class)
    local line = lines[class]
    local host = line[line.at]
    if host == nil and not line.ended then
        local key = base .. 'ready:' .. classes[class]
        -- Without the scores, which cost Redis more to print than the hosts cost to find.
        line = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', lines[class].from, LOOK)
        line.from, line.at = lines[class].from + LOOK, 1
        lines[class], host = line, line[1]
        if #line < LOOK then
            line.ended = true
            local first = redis.call('ZRANGE', key, line.from - LOOK + #line, line.from - LOOK + #line, 'WITHSCORES')
            if first[2] then next_at = math.min(next_at, tonumber(first[2])) end
        end
    end
    line.at = line.at + 1
    return host
end

local function put_off(class, host, at)
    local list = moved[class]
    list[#list + 1], list[#list + 2] = at, host
    next_at = math.min(next_at, at)
end

local function drop(class, host)
    gone[class][#gone[class] + 1] = host
end

-- Out of the ready list until the visit that has the host ends.
local function park(class, host, record)
    drop(class, host)
    wait_for(record, crawl, classes[class])
    changed[host] = record
end

-- A host has its pages: those that it has not given yet are put away. Those that it gave before may be crawled again,
-- which takes nothing of its cap. Answers whether they are all that a visit would take from its queue.
local function discard(class, host)
    local queue = base .. 'q:' .. classes[class] .. ':' .. host
    local found, number = redis.pcall('ZRANGE', queue, 0, DISCARD - 1), 0
    local away, visit = {}, math.min(visit_pages, DISCARD)
    for i, entry in ipairs(found) do
        if string.byte(entry, 9) == KNOWN then
            number = number + 1
        else
            away[#away + 1] = entry
        end
        if i == visit and number == visit then return true end -- most looks at such a host end here
    end
    if #away == 0 and number > 0 then return true end
    if #away > 0 then redis.call('ZREM', queue, unpack(away)) end
    for _, entry in ipairs(away) do bury(string.sub(entry, 1, 8), host, entry, 'host_cap') end
    if number == 0 and #found < DISCARD then drop(class, host) else put_off(class, host, now) end
    return false
end

-- Gives entries taken from a queue to a visit; answers how many. What is no entry of ours, or is in the visit
-- already, is dead at once: no worker could say afterwards how it ended.
local function hand_over(taken, visit, ids)
    local fence, host, number = visit[1], visit[2], 0
    for i = 1, #taken, 2 do
        local entry = taken[i]
        local id = string.sub(entry, 1, 8)
        if #entry < 9 or find_id(ids, id) then
            bury(entry, host, entry, 'poisoned')
        else
            number = number + 1
            visit[number + 4] = entry
            ids = ids .. id
            entries[#entries + 1] = fence .. id
            entries[#entries + 1] = waiting(visit[3], taken[i + 1], host, entry)
        end
    end
    return number, ids
end

-- Visits one host for one class; answers how many URLs were leased.
local function serve(pick, host, record, joins, robots, most, tokens, host_rate, bucket)
    local queue = base .. 'q:' .. classes[pick] .. ':' .. host
    local taken
    if robots then
        taken = redis.pcall('ZRANGE', queue, 0, 0, 'WITHSCORES')
        if taken[1] and #taken[1] < 9 then
            redis.call('ZREM', queue, taken[1])
            bury(taken[1], host, taken[1], 'poisoned')
            put_off(pick, host, now)
            return 0
        end
    else
        taken = redis.pcall('ZPOPMIN', queue, most)
    end
    if #taken == 0 then -- emptied meanwhile, or the key was overwritten with another type: audit finds the latter
        drop(pick, host)
        return 0
    end

    local id = record[FENCE]
    if not joins then
        -- Numbers are taken once for the whole call; those left over are never used.
        fence = (fence or redis.call('INCRBY', tag .. ':fence', most_looks) - most_looks) + 1
        id = string.format('%.0f', fence)
    end
    local visit = { id, host, classes[pick], robots and 'robots' or 'pages' }
    local served = 1
    if robots then
        visit[5], record[HELD] = taken[1], NO_URLS
    else
        served, record[HELD] = hand_over(taken, visit, record[HELD])
        if served == 0 then
            put_off(pick, host, now)
            return 0
        end
    end
    visits[#visits + 1] = visit
    if not joins then
        record[FENCE], record[OWNER], record[CRAWL], record[LOCK] = id, worker, crawl, lock_ms
        locks[#locks + 1], locks[#locks + 2] = deadline, id .. '|' .. crawl .. '|' .. host
    end
    changed[host] = record

    spend(record, tokens - served, host_rate, bucket)
    if not robots and #taken < 2 * most or redis.call('ZCARD', queue) == 0 then
        drop(pick, host)
    elseif host_rate == 0 and not robots then
        put_off(pick, host, now) -- its owner may have more of it, after the hosts that have been ready longer
    else
        park(pick, host, record)
        next_at = math.min(next_at, now + math.max(0, record[NEXT_MS])) -- not before, if the visit is over by then
    end
    return robots and 0 or served
end

-- Decides what a look at a host comes to; answers how many URLs were leased.
local function look(pick, host)
    local record = known[host] or recall(host)
    known[host] = record
    if record[BLOCKED] >= FOREVER then
        drop(pick, host)
        redis.call('SADD', base .. 'blocked', classes[pick] .. '|' .. host)
        return 0
    elseif record[BLOCKED] > now then
        put_off(pick, host, record[BLOCKED])
        return 0
    end

    local host_rate, bucket = bucket_of(record, rate, burst)
    -- Without a rate limit the worker that holds a host may be given more of it, unless another crawl waits; with
    -- a limit, tokens are counted from the last fetch of a visit, so the visit has to end first.
    local locked, in_visit = record[FENCE] ~= '', 0
    local joins = locked and host_rate == 0 and record[NEXT_MS] < 0 and record[OWNER] == worker
        and record[CRAWL] == crawl and record[HELD] ~= NO_URLS and not first_other(record, crawl)
    if joins then in_visit = #record[HELD] / 8 end
    local pages_left = FOREVER
    if cap > 0 then pages_left = cap - tonumber(redis.call('HGET', base .. 'pages', host) or 0) - in_visit end
    if locked and (not joins or in_visit >= visit_pages or pages_left < 1) then
        park(pick, host, record)
        return 0
    end

    local my_turn = record[TURN] == crawl
    if record[TURN] ~= '' and not my_turn and record[TURN_UNTIL] > now then
        -- Woken when the crawl whose turn it is has had its visit, and not later than it may be given up on.
        put_off(pick, host, record[TURN_UNTIL])
        wait_for(record, crawl, classes[pick])
        changed[host] = record
        return 0
    end
    if pages_left < 1 then
        if not discard(pick, host) then return 0 end
        pages_left = DISCARD
    end

    local tokens = tokens_in(record, host_rate, bucket)
    if tokens < 1 then
        local at = now + math.ceil((1 - tokens) / host_rate)
        put_off(pick, host, at)
        if my_turn then -- a crawl with a lower rate than the others would otherwise never find a whole token
            record[TURN_UNTIL] = at + TURN_MS
            changed[host] = record
        end
        return 0
    end
    if record[TURN] ~= '' then
        record[TURN], record[TURN_UNTIL] = '', 0
        changed[host] = record
    end
    local robots = ask_robots and record[ROBOTS] <= now
    if robots and joins then -- what is known ran out during the visit
        park(pick, host, record)
        return 0
    end
    local most = math.min(wanted - leased, visit_pages - in_visit, pages_left)
    if host_rate > 0 then most = math.min(most, math.floor(tokens)) end
    return serve(pick, host, record, joins, robots, most, tokens, host_rate, bucket)
end

local heads = { next_host(1), next_host(2), next_host(3) }
while leased < wanted and looks > 0 do
    local total, pick = 0, nil
    for class = 1, 3 do
        if heads[class] then
            total = total + weights[class]
            if not pick or turns[class] > turns[pick] then pick = class end
        end
    end
    if not pick then break end
    looks = looks - 1
    local served = look(pick, heads[pick])
    if served > 0 then
        leased = leased + served
        for class = 1, 3 do
            if heads[class] then turns[class] = turns[class] + served * weights[class] / total end
        end
        turns[pick] = turns[pick] - served
    end
    heads[pick] = next_host(pick)
end

remember_all(changed)
write('HSET', base .. 'leased', entries)
write('ZADD', tag .. ':visits', locks)
for class = 1, 3 do
    write('ZADD', base .. 'ready:' .. classes[class], moved[class])
    write('ZREM', base .. 'ready:' .. classes[class], gone[class])
end
put_away(base, graves)

local counts = base .. 'counts'
for reason, number in pairs(reasons) do redis.call('HINCRBY', counts, 'dead:' .. reason, number) end
if dead > 0 then redis.call('HINCRBY', counts, 'dead', dead) end
if leased > 0 then redis.call('HINCRBY', counts, 'leased', leased) end
if leased ~= queued then redis.call('HINCRBY', counts, 'queued', queued - leased) end
if leased > 0 then
    -- Credit is bounded to a few visits, so that a class that had nothing to give for long does not shut out the
    -- others later.
    local most = 4 * visit_pages
    for class = 1, 3 do turns[class] = math.max(-most, math.min(most, turns[class])) end
    redis.call('SET', base .. 'turns', cmsgpack.pack(turns))
end

local wait = -1
if leased >= wanted or looks <= 0 then
    wait = 0
elseif next_at < FOREVER then
    wait = math.max(0, next_at - now)
end
return { '', wait, visits }
