-- The ledger, first version. docs/design.md has the words.
--
-- MySQL and MariaDB end a transaction at every CREATE. So this file is a sequence
-- that can be carried out again from its beginning after a crash in its middle,
-- and every later one must be so too.
--
-- Times are whole milliseconds since 1970-01-01 UTC; NULL stands for "none"
-- (no opening time, no expiry, not ended). round is 1: a plain sale has one
-- round; the column is there because it is part of the unique keys.
--
-- Ids, users and keys are VARBINARY: the bytes of their UTF-8, compared as such.
-- Every collation that both families know ignores spaces at the end, or case, or
-- accents, and each would make one person of two. (The mysql program shows them
-- as text with --skip-binary-as-hex; mariadb does so by itself.)
--
-- Ordinary readers are welcome while the server runs:
--   SELECT count(*) FROM claims WHERE sale = ? AND state IN ('held', 'confirmed');

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS sales (
    position   BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY, -- order of creation
    id         VARBINARY(64)  NOT NULL,
    name       VARCHAR(200)   NOT NULL,
    opens_at   BIGINT,
    closes_at  BIGINT,
    per_user   BIGINT         NOT NULL,            -- 0: no limit
    hold_ms    BIGINT         NOT NULL,            -- 0: confirmed at once
    ack        VARBINARY(20)  NOT NULL,
    frozen     BOOLEAN        NOT NULL,
    ended      BOOLEAN        NOT NULL,
    epoch      BIGINT         NOT NULL,            -- fencing token: an older one cannot grant
    version    BIGINT         NOT NULL,            -- of the rules
    shards     INT            NOT NULL,            -- parts into which a gate divides the stock
    last_seq   BIGINT         NOT NULL DEFAULT 0,  -- number of the latest event
    created_at BIGINT,
    UNIQUE KEY sales_id (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Stock rows. The CHECK is the last barrier: whatever a program asks for, no
-- row ever says that more is taken than there is.
CREATE TABLE IF NOT EXISTS items (
    sale      VARBINARY(64) NOT NULL,
    round     INT           NOT NULL,
    item      VARBINARY(64) NOT NULL,
    position  INT           NOT NULL,              -- order within the sale
    name      VARCHAR(200)  NOT NULL,
    total     BIGINT        NOT NULL,
    taken     BIGINT        NOT NULL DEFAULT 0,    -- units of held and confirmed claims
    confirmed BIGINT        NOT NULL DEFAULT 0,    -- units of confirmed claims
    PRIMARY KEY (sale, round, item),
    CONSTRAINT items_bounds CHECK (0 <= confirmed AND confirmed <= taken AND taken <= total)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Claims, which are the orders. id is the order number.
--
-- NULLs differ from each other in a unique key: claims that ended, and those of
-- a sale without limit, never collide.
CREATE TABLE IF NOT EXISTS claims (
    id         BIGINT         NOT NULL PRIMARY KEY,
    sale       VARBINARY(64)  NOT NULL,
    round      INT            NOT NULL,
    item       VARBINARY(64)  NOT NULL,
    user_id    VARBINARY(128) NOT NULL,
    slot       INT,                                -- 0 … limit-1; NULL: ended, or a sale without limit
    quantity   BIGINT         NOT NULL,
    state      ENUM ('held', 'confirmed', 'released', 'expired', 'revoked') NOT NULL,
    created_at BIGINT         NOT NULL,
    expires_at BIGINT,                             -- NULL: confirmed at once
    ended_at   BIGINT,                             -- NULL while held
    idem_key   VARBINARY(512),                     -- Idempotency-Key with its scope
    UNIQUE KEY claims_slot (sale, round, user_id, slot),
    UNIQUE KEY claims_key (sale, idem_key),
    KEY claims_due (state, expires_at, id),
    KEY claims_by_sale (sale, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Events, in batches: one row tells n events of the same kind, numbered seq to
-- seq+n-1, in the order of the ids in claims. Events of a sale have n = 1 and
-- tell in data what there is to tell.
CREATE TABLE IF NOT EXISTS events (
    sale   VARBINARY(64) NOT NULL,
    seq    BIGINT        NOT NULL,
    n      BIGINT        NOT NULL,
    kind   VARBINARY(40) NOT NULL,
    at     BIGINT        NOT NULL,
    batch  BIGINT        NOT NULL,
    claims LONGTEXT CHARACTER SET ascii COLLATE ascii_bin, -- JSON array of claim ids
    data   LONGTEXT,                               -- JSON: the sale after the change, or the restock
    PRIMARY KEY (sale, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Batches that were committed: a commit whose answer got lost is found here.
CREATE TABLE IF NOT EXISTS batches (
    id BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Leases of nodes. A row stays when its lease is over: terms only grow. What is
-- written under a lease locks its entry in leases_term, and no more: so extending
-- the lease, which changes the row alone, does not wait for it, but a change of
-- hands does.
CREATE TABLE IF NOT EXISTS leases (
    name    VARBINARY(100) NOT NULL PRIMARY KEY,
    holder  VARBINARY(100) NOT NULL,               -- '': given back
    note    VARBINARY(500) NOT NULL,
    term    BIGINT         NOT NULL,
    expires_at BIGINT         NOT NULL,               -- by this database's clock
    UNIQUE KEY leases_term (name, term, holder)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which ledger this is: one row, with an id that no other has.
CREATE TABLE IF NOT EXISTS ledger (
    one     INT           NOT NULL DEFAULT 1 PRIMARY KEY,
    id      VARBINARY(40) NOT NULL,
    settled BIGINT        NOT NULL DEFAULT 0,      -- how often an unknown commit was found to have happened
    CONSTRAINT ledger_one CHECK (one = 1)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

INSERT INTO ledger (id)
    SELECT LEFT(SHA2(CONCAT_WS('/', UUID(), RAND(), CONNECTION_ID(), SYSDATE(6)), 256), 32)
    FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM ledger);

-- +goose Down
DROP TABLE IF EXISTS ledger;
DROP TABLE IF EXISTS leases;
DROP TABLE IF EXISTS batches;
DROP TABLE IF EXISTS events;
DROP TABLE IF EXISTS claims;
DROP TABLE IF EXISTS items;
DROP TABLE IF EXISTS sales;
