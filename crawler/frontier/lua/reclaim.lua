-- reclaim: visits whose lock ran out go back. Their URLs are queued again, before all others, up to a number of
-- times, then dead: a URL whose workers die again and again may be what kills them. Any worker calls this, for every
-- crawl, since a host locked by a dead crawl would otherwise stay locked for all.
--
-- KEYS[1]  the partition's tag
-- ARGV     crashes that make a URL dead, visits looked at in one call
-- returns  {crawl, URLs given back, URLs dead, …} for each visit reclaimed
--
-- Whoever held such a visit finds its acks refused from here on: the fence is gone.

local tag, most_crashes = KEYS[1], tonumber(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local due, deadlines = {}, {}
local found = redis.call('ZRANGEBYSCORE', tag .. ':visits', '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #found, 2 do due[#due + 1], deadlines[#deadlines + 1] = found[i], tonumber(found[i + 1]) end
if #due == 0 then return {} end

-- include host

local FIRST = -1e15 -- a score that no strategy gives
local TRAVEL_MS = 1000 -- from a worker's sending a request to the server's seeing it, at most
local answer, changed = {}, {}
redis.call('ZREM', tag .. ':visits', unpack(due)) -- a deletion first: a full Redis then allows the rest

-- The ids that a visit holds. When the host's record is lost, and only then, they are looked for among all that is
-- leased.
local function held_ids(record, leased, fence)
    local ids = {}
    if record[FENCE] == fence then
        if record[HELD] ~= NO_URLS then
            for first = 1, #record[HELD], 8 do ids[#ids + 1] = string.sub(record[HELD], first, first + 7) end
        end
    else
        for _, name in ipairs(redis.call('HKEYS', leased)) do
            if string.sub(name, 1, -9) == fence then ids[#ids + 1] = string.sub(name, -8) end
        end
    end
    return ids
end

-- Answers what became of a URL: "queued", "dead:reason", or "accepted" when an equal entry was queued already, so
-- that the two are one URL, accepted once.
local function give_back(crawl, host, id, class, _, _, entry)
    local base, reason = tag .. ':' .. crawl .. ':', nil
    if not class then
        reason, entry = 'poisoned', ''
    elseif redis.call('HINCRBY', base .. 'crashes', id, 1) >= most_crashes then
        redis.call('HDEL', base .. 'crashes', id)
        reason = 'crashed'
    end
    if reason then
        put_away(base, { id, epitaph(reason, now, host, '', entry) })
        return 'dead:' .. reason
    end
    -- Before all others: it has waited for a lock to run out, and if it is what kills workers, that shows soonest.
    ready(crawl .. '|high', now, host)
    return enqueue(base .. 'q:high:' .. host, FIRST, entry) == 1 and 'queued' or 'accepted'
end

for i, member in ipairs(due) do
    local fence, crawl, host = string.match(member, '^([^|]+)|([^|]+)|(.*)$')
    if fence then
        local base = tag .. ':' .. crawl .. ':'
        local record = changed[host] or recall(host)
        local sums = { queued = 0, dead = 0, leased = 0 }
        for _, id in ipairs(held_ids(record, base .. 'leased', fence)) do
            local value = redis.call('HGET', base .. 'leased', fence .. id) or ''
            redis.call('HDEL', base .. 'leased', fence .. id)
            local fate = give_back(crawl, host, id, read_waiting(value))
            sums[fate] = (sums[fate] or 0) + 1
            sums.leased = sums.leased + 1
        end
        sums.dead = (sums['dead:crashed'] or 0) + (sums['dead:poisoned'] or 0)
        answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = crawl, sums.queued, sums.dead
        if sums.leased > 0 then
            sums.reclaimed = sums.leased
            sums.leased = -sums.leased
            if sums.accepted then
                redis.call('HINCRBY', base .. 'drops', 'duplicate', sums.accepted)
                sums.accepted = -sums.accepted
            end
            for name, amount in pairs(sums) do
                if amount ~= 0 then redis.call('HINCRBY', base .. 'counts', name, amount) end
            end
        end
        if record[FENCE] == fence then
            -- When the dead worker last fetched is not known, but no worker begins a fetch in the second half of a lock.
            local latest = deadlines[i] - record[LOCK] / 2 + TRAVEL_MS
            record[AT] = math.max(record[AT], math.min(now, latest))
            release(host, record)
            changed[host] = record
        end
    end
end
write_ready()
remember_all(changed)
return answer
