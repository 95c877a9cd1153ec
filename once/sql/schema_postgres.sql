-- PREFIX stands for Options.Prefix. Times are microseconds since 1970, of the server's clock.
CREATE TABLE IF NOT EXISTS PREFIXruns (
    name        text COLLATE "C" PRIMARY KEY,
    phase       smallint NOT NULL,      -- 1 an attempt has the key, 3 done, 4 failed, 0 free
    owner       text     NOT NULL,
    fingerprint text     NOT NULL,
    token       bigint   NOT NULL,
    number      integer  NOT NULL,
    lease_ends  bigint   NOT NULL,      -- of phase 1
    expires     bigint   NOT NULL,      -- the row may be deleted after that
    result      bytea    NOT NULL
);
CREATE TABLE IF NOT EXISTS PREFIXmarks (
    name    text COLLATE "C" NOT NULL,
    member  text COLLATE "C" NOT NULL,
    tag     text             NOT NULL,
    PRIMARY KEY (name, member)
);
CREATE TABLE IF NOT EXISTS PREFIXtoggles (
    name   text COLLATE "C" NOT NULL,
    member text COLLATE "C" NOT NULL,
    is_on  smallint         NOT NULL,
    seq    bigint           NOT NULL,
    PRIMARY KEY (name, member)
);
CREATE INDEX IF NOT EXISTS PREFIXruns_expires ON PREFIXruns (expires);
CREATE INDEX IF NOT EXISTS PREFIXtoggles_on ON PREFIXtoggles (name) WHERE is_on = 1;
