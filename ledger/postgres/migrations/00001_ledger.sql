-- The ledger, first version. docs/design.md has the words.
--
-- Times are whole milliseconds since 1970-01-01 UTC; NULL stands for "none"
-- (no opening time, no expiry, not ended). Leases alone are by this server's
-- clock. round is 1: a plain sale has one round; the column is there because it
-- is part of the unique keys. Text is compared byte by byte (COLLATE "C").
--
-- Ordinary readers are welcome at any time:
--   SELECT count(*) FROM claims WHERE sale = '…' AND state IN ('held', 'confirmed');

-- +goose Up

-- Which ledger this is, made once: a copy of the database is the same ledger.
CREATE TABLE ledger (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    id  TEXT    NOT NULL
);
INSERT INTO ledger (id) VALUES (gen_random_uuid()::text);

-- The rows of sales and items change with every batch. The room that is left
-- beside them lets a row's next version stay in its page, where the indexes
-- find it without being told.
CREATE TABLE sales (
    position   BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- order of creation
    id         TEXT    COLLATE "C" NOT NULL CONSTRAINT sales_id UNIQUE,
    name       TEXT    NOT NULL,
    opens_at   BIGINT,
    closes_at  BIGINT,
    per_user   BIGINT  NOT NULL,            -- 0: no limit
    hold_ms    BIGINT  NOT NULL,            -- 0: confirmed at once
    ack        TEXT    NOT NULL,
    frozen     BOOLEAN NOT NULL,
    ended      BOOLEAN NOT NULL,
    epoch      BIGINT  NOT NULL,            -- fencing token: an older one cannot grant
    version    BIGINT  NOT NULL,            -- of the rules
    shards     INTEGER NOT NULL,
    last_seq   BIGINT  NOT NULL DEFAULT 0,  -- number of the latest event
    created_at BIGINT
) WITH (fillfactor = 20);

-- Stock rows. The CHECK is the last barrier: whatever a program asks for, no
-- row ever says that more is taken than there is.
CREATE TABLE items (
    sale      TEXT    COLLATE "C" NOT NULL,
    round     INTEGER NOT NULL,
    item      TEXT    COLLATE "C" NOT NULL,
    position  INTEGER NOT NULL,             -- order within the sale
    name      TEXT    NOT NULL,
    total     BIGINT  NOT NULL,
    taken     BIGINT  NOT NULL DEFAULT 0,   -- units of held and confirmed claims
    confirmed BIGINT  NOT NULL DEFAULT 0,   -- units of confirmed claims
    PRIMARY KEY (sale, round, item),
    CONSTRAINT items_stock CHECK (0 <= confirmed AND confirmed <= taken AND taken <= total)
) WITH (fillfactor = 20);

-- Claims, which are the orders. id is the order number.
CREATE TABLE claims (
    id         BIGINT  CONSTRAINT claims_id PRIMARY KEY,
    sale       TEXT    COLLATE "C" NOT NULL,
    round      INTEGER NOT NULL,
    item       TEXT    COLLATE "C" NOT NULL,
    user_id    TEXT    COLLATE "C" NOT NULL,
    slot       INTEGER,                     -- 0 … limit-1; NULL: ended, or a sale without limit
    quantity   BIGINT  NOT NULL,
    state      TEXT    COLLATE "C" NOT NULL, -- held, confirmed, released, expired, revoked
    created_at BIGINT  NOT NULL,
    expires_at BIGINT,                      -- NULL: confirmed at once
    ended_at   BIGINT,                      -- NULL while held
    idem_key   TEXT    COLLATE "C"          -- Idempotency-Key with its scope
);

-- NULLs differ from each other in a unique index: ended claims never collide.
CREATE UNIQUE INDEX claims_slot ON claims (sale, round, user_id, slot);
CREATE UNIQUE INDEX claims_key ON claims (sale, idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX claims_due ON claims (expires_at) WHERE state = 'held';
CREATE INDEX claims_by_sale ON claims (sale, id);

-- Events, in batches: one row tells n events of the same kind, numbered seq to
-- seq+n-1, in the order of the ids in claims. Events of a sale have n = 1 and
-- tell in data what there is to tell.
CREATE TABLE events (
    sale   TEXT    COLLATE "C" NOT NULL,
    seq    BIGINT  NOT NULL,
    n      BIGINT  NOT NULL,
    kind   TEXT    COLLATE "C" NOT NULL,
    at     BIGINT  NOT NULL,
    batch  BIGINT  NOT NULL,
    claims TEXT,                            -- JSON array of claim ids
    data   TEXT,                            -- JSON: the sale after the change, or the restock
    PRIMARY KEY (sale, seq)
);

-- Batches that were committed: a commit whose answer got lost is found here.
CREATE TABLE batches (
    id BIGINT CONSTRAINT batches_id PRIMARY KEY,
    at BIGINT NOT NULL
);

-- Leases by which nodes agree who does what, by this server's clock. A row is
-- never deleted: its term only grows.
CREATE TABLE leases (
    name       TEXT COLLATE "C" PRIMARY KEY,
    holder     TEXT COLLATE "C" NOT NULL,   -- empty: given back
    note       TEXT NOT NULL,
    term       BIGINT NOT NULL,             -- the fencing token
    expires_at TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 20);

-- +goose Down
DROP TABLE leases;
DROP TABLE batches;
DROP TABLE events;
DROP TABLE claims;
DROP TABLE items;
DROP TABLE sales;
DROP TABLE ledger;
