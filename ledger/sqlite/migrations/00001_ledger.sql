-- The ledger, first version. docs/design.md has the words.
--
-- Times are whole milliseconds since 1970-01-01 UTC; NULL stands for "none"
-- (no opening time, no expiry, not ended). round is 1: a plain sale has one
-- round; the column is there because it is part of the unique keys.
--
-- Ordinary readers are welcome while the server runs:
--   SELECT count(*) FROM claims WHERE sale = ? AND state IN ('held', 'confirmed');

-- +goose Up
CREATE TABLE sales (
    position   INTEGER PRIMARY KEY,         -- order of creation
    id         TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    opens_at   INTEGER,
    closes_at  INTEGER,
    per_user   INTEGER NOT NULL,            -- 0: no limit
    hold_ms    INTEGER NOT NULL,            -- 0: confirmed at once
    ack        TEXT    NOT NULL,
    frozen     INTEGER NOT NULL,
    ended      INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,            -- fencing token: an older one cannot grant
    last_seq   INTEGER NOT NULL DEFAULT 0,  -- number of the latest event
    created_at INTEGER
);

-- Stock rows. The CHECK is the last barrier: whatever a program asks for, no
-- row ever says that more is taken than there is.
CREATE TABLE items (
    sale      TEXT    NOT NULL,
    round     INTEGER NOT NULL,
    item      TEXT    NOT NULL,
    position  INTEGER NOT NULL,             -- order within the sale
    name      TEXT    NOT NULL,
    total     INTEGER NOT NULL,
    taken     INTEGER NOT NULL DEFAULT 0,   -- units of held and confirmed claims
    confirmed INTEGER NOT NULL DEFAULT 0,   -- units of confirmed claims
    PRIMARY KEY (sale, round, item),
    CHECK (0 <= confirmed AND confirmed <= taken AND taken <= total)
) WITHOUT ROWID;

-- Claims, which are the orders. id is the order number.
CREATE TABLE claims (
    id         INTEGER PRIMARY KEY,
    sale       TEXT    NOT NULL,
    round      INTEGER NOT NULL,
    item       TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    slot       INTEGER,                     -- 0 … limit-1; NULL: ended, or a sale without limit
    quantity   INTEGER NOT NULL,
    state      TEXT    NOT NULL,            -- held, confirmed, released, expired
    created_at INTEGER NOT NULL,
    expires_at INTEGER,                     -- NULL: confirmed at once
    ended_at   INTEGER,                     -- NULL while held
    idem_key   TEXT                         -- Idempotency-Key with its scope
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
    sale   TEXT    NOT NULL,
    seq    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    batch  INTEGER NOT NULL,
    claims TEXT,                            -- JSON array of claim ids
    data   TEXT,                            -- JSON: the sale after the change, or the restock
    PRIMARY KEY (sale, seq)
) WITHOUT ROWID;

-- Batches that were committed: a commit whose answer got lost is found here.
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
);

-- +goose Down
DROP TABLE batches;
DROP TABLE events;
DROP TABLE claims;
DROP TABLE items;
DROP TABLE sales;
