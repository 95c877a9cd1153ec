-- What package lock keeps in PostgreSQL. It may be run again. The search path
-- is the schema that all of this goes into, then pg_temp. acquire, renew and release
-- are called by locks, and keep it; the others by those.
--
-- Claims come and go by the thousand, and each leaves a dead row until the next
-- vacuum. An index scan removes what it meets of them from its way; a bitmap scan and
-- a sequential scan, which planners prefer for so few rows, read all of them each
-- time. So those are off; and so is the compiler, which is called for what is
-- scanned all the same (a sequence), as it then seems to cost the earth.

-- A claim that waits (fence 0) or is held. There is nothing to know of a key
-- that nobody claims: its fences come from one sequence for all keys.
CREATE TABLE IF NOT EXISTS claims (
  key    text        NOT NULL,
  owner  text        NOT NULL,
  need   bigint      NOT NULL,
  lim    bigint      NOT NULL,
  ends   timestamptz NOT NULL,
  fence  bigint      NOT NULL,
  place  bigint      NOT NULL,
  tokens text[]      NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 50);

-- A cache of 1, which is the default, so that numbers grow in the order in
-- which they are taken.
CREATE SEQUENCE IF NOT EXISTS fences CACHE 1;
CREATE SEQUENCE IF NOT EXISTS places CACHE 1;

-- arrive makes this transaction the only one at a key, and removes the claims
-- that are over; it says whether others were granted by that. It must see what
-- others have committed while it waited, which only READ COMMITTED does.
CREATE OR REPLACE FUNCTION arrive(k text, wakes text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'locks need transactions that are READ COMMITTED, not %', current_setting('transaction_isolation')
      USING HINT = 'set default_transaction_isolation to ''read committed'' for these connections';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(k, hashtext(wakes)));
  DELETE FROM claims c WHERE c.key = k AND c.ends <= clock_timestamp();
  IF FOUND THEN
    RETURN hand_over(k, wakes);
  END IF;
  RETURN false;
END $$;

-- hand_over grants those at the head of the line, until one does not fit, and
-- tells them, each on the channel of its node. It says whether there were any.
CREATE OR REPLACE FUNCTION hand_over(k text, wakes text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  head claims;
  taken bigint;
  granted boolean := false;
BEGIN
  LOOP
    SELECT * INTO head FROM claims c WHERE c.key = k AND c.fence = 0 ORDER BY c.place LIMIT 1;
    EXIT WHEN NOT FOUND;
    SELECT coalesce(sum(c.need), 0) INTO taken FROM claims c WHERE c.key = k AND c.fence > 0;
    EXIT WHEN taken + head.need > head.lim;
    UPDATE claims c SET fence = nextval('fences') WHERE c.key = k AND c.owner = head.owner RETURNING c.fence INTO head.fence;
    PERFORM pg_notify(wakes || split_part(t, '.', 1), t || ' ' || head.fence) FROM unnest(head.tokens) t;
    granted := true;
  END LOOP;
  RETURN granted;
END $$;

-- microseconds is how long it is until a time that is not over.
CREATE OR REPLACE FUNCTION microseconds(until timestamptz) RETURNS bigint LANGUAGE sql AS $$
  SELECT greatest(0, extract(epoch FROM until - clock_timestamp()) * 1000000)::bigint
$$;

-- standing is the answer for a claim that there is, and for none: state is that
-- of lock.State, left_us until the first lease ends.
CREATE OR REPLACE FUNCTION standing(k text, who text, otherwise int,
  OUT state int, OUT granted bigint, OUT left_us bigint, OUT ahead bigint) LANGUAGE plpgsql AS $$
DECLARE
  mine claims;
BEGIN
  SELECT coalesce(microseconds(min(c.ends)), 0) INTO left_us FROM claims c WHERE c.key = k;
  granted := 0; ahead := 0; state := otherwise;
  IF otherwise > 0 THEN RETURN; END IF;
  SELECT * INTO STRICT mine FROM claims c WHERE c.key = k AND c.owner = who;
  IF mine.fence > 0 THEN
    state := 1; granted := mine.fence;
    RETURN;
  END IF;
  state := 2;
  SELECT last_value INTO granted FROM fences;
  SELECT count(*) INTO ahead FROM claims c WHERE c.key = k AND c.fence = 0 AND c.place < mine.place;
END $$;

-- acquire makes a claim, or gives a sign of life for it.
CREATE OR REPLACE FUNCTION acquire(k text, who text, tok text, want bigint, lim bigint, lease_us bigint, room int, wakes text, max_holders int, max_holds int,
  OUT state int, OUT granted bigint, OUT left_us bigint, OUT ahead bigint) LANGUAGE plpgsql
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  mine claims;
  until timestamptz;
  taken bigint;
  holders bigint;
  waiting bigint;
  verdict int := 0;
  others boolean;
BEGIN
  others := arrive(k, wakes);
  until := clock_timestamp() + lease_us * interval '1 microsecond';
  SELECT * INTO mine FROM claims c WHERE c.key = k AND c.owner = who;
  IF FOUND THEN
    IF NOT tok = ANY (mine.tokens) THEN
      verdict := CASE WHEN mine.fence = 0 AND room = 0 THEN 3 WHEN want > mine.need THEN 5 WHEN cardinality(mine.tokens) >= max_holds THEN 4 ELSE 0 END;
      mine.tokens := mine.tokens || tok;
    END IF;
    IF verdict = 0 THEN
      UPDATE claims c SET tokens = mine.tokens, ends = greatest(c.ends, until) WHERE c.key = k AND c.owner = who;
    END IF;
  ELSE
    SELECT coalesce(sum(c.need) FILTER (WHERE c.fence > 0), 0), count(*) FILTER (WHERE c.fence > 0), count(*) FILTER (WHERE c.fence = 0)
      INTO taken, holders, waiting FROM claims c WHERE c.key = k;
    IF waiting = 0 AND taken + want <= lim THEN
      verdict := CASE WHEN holders >= max_holders THEN 4 ELSE 0 END;
      mine.fence := 1;
    ELSE
      verdict := CASE WHEN room = 0 THEN 3 WHEN waiting >= room THEN 4 ELSE 0 END;
      mine.fence := 0;
    END IF;
    IF verdict = 0 THEN
      INSERT INTO claims AS c VALUES (k, who, want, lim, until, CASE mine.fence WHEN 1 THEN nextval('fences') ELSE 0 END, nextval('places'), ARRAY[tok])
        RETURNING c.fence INTO granted;
      IF granted > 0 THEN -- the usual case: there is nothing to look up
        state := 1; left_us := lease_us; ahead := 0;
        RETURN;
      END IF;
    END IF;
  END IF;
  SELECT * INTO state, granted, left_us, ahead FROM standing(k, who, verdict);
  IF state <> 1 AND NOT others THEN
    PERFORM set_config('synchronous_commit', 'off', true); -- see release
  END IF;
END $$;

-- renew gives signs of life. Keys are taken in one order by all, so that two
-- batches do not wait for each other. floors are what fences are raised to.
CREATE OR REPLACE FUNCTION renew(keys text[], owners text[], toks text[], leases_us bigint[], floors bigint[], wakes text)
  RETURNS TABLE (n bigint, state int, granted bigint, left_us bigint, ahead bigint) LANGUAGE plpgsql
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT * FROM unnest(keys, owners, toks, leases_us, floors) WITH ORDINALITY AS u (key, owner, tok, lease, floor, n)
    ORDER BY hashtextextended(u.key, hashtext(wakes))
  LOOP
    PERFORM arrive(r.key, wakes);
    PERFORM raise_fences(r.floor, wakes);
    UPDATE claims c SET ends = greatest(c.ends, clock_timestamp() + r.lease * interval '1 microsecond'),
      fence = CASE c.fence WHEN 0 THEN 0 ELSE greatest(c.fence, r.floor) END
      WHERE c.key = r.key AND c.owner = r.owner AND r.tok = ANY (c.tokens);
    RETURN QUERY SELECT r.n, s.* FROM standing(r.key, r.owner, CASE WHEN FOUND THEN 0 ELSE 6 END) s;
  END LOOP;
END $$;

-- raise_fences has fences begin above a number. Between its look and its set
-- others take some numbers, but not as many as it leaves out.
CREATE OR REPLACE FUNCTION raise_fences(floor bigint, wakes text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF floor > (SELECT last_value FROM fences) THEN
    PERFORM pg_advisory_xact_lock(hashtext(wakes));
    IF floor > (SELECT last_value FROM fences) THEN
      PERFORM setval('fences', floor + 1048576);
    END IF;
  END IF;
END $$;

-- release takes tokens away, and with the last one the claim.
CREATE OR REPLACE FUNCTION release(keys text[], owners text[], toks text[], wakes text)
  RETURNS TABLE (n bigint, state int, granted bigint, left_us bigint, ahead bigint) LANGUAGE plpgsql
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  r record;
  mine claims;
  others boolean := false;
BEGIN
  FOR r IN SELECT * FROM unnest(keys, owners, toks) WITH ORDINALITY AS u (key, owner, tok, n)
    ORDER BY hashtextextended(u.key, hashtext(wakes))
  LOOP
    others := arrive(r.key, wakes) OR others;
    DELETE FROM claims c WHERE c.key = r.key AND c.owner = r.owner AND c.tokens = ARRAY[r.tok] RETURNING * INTO mine;
    IF FOUND THEN
      others := hand_over(r.key, wakes) OR others;
    ELSE
      UPDATE claims c SET tokens = array_remove(c.tokens, r.tok)
        WHERE c.key = r.key AND c.owner = r.owner AND r.tok = ANY (c.tokens) RETURNING * INTO mine;
    END IF;
    n := r.n; granted := coalesce(mine.fence, 0); left_us := 0; ahead := 0;
    state := CASE WHEN mine IS NULL THEN 6 WHEN mine.fence = 0 THEN 2 ELSE 1 END;
    RETURN NEXT;
  END LOOP;
  -- The commit need not wait for the disk. What a crash may forget is only that
  -- somebody has left, whose lease ends, or that somebody waits, who asks again. A
  -- grant, its fence and a renewal must be kept.
  IF NOT others THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
END $$;
