-- PREFIX stands for Options.Prefix. Times are microseconds since 1970.
CREATE TABLE IF NOT EXISTS PREFIXruns (
    name        text    PRIMARY KEY,
    phase       integer NOT NULL,      -- 1 an attempt has the key, 3 done, 4 failed, 0 free
    owner       text    NOT NULL,
    fingerprint text    NOT NULL,
    token       integer NOT NULL,
    number      integer NOT NULL,
    lease_ends  integer NOT NULL,      -- of phase 1
    expires     integer NOT NULL,      -- the row may be deleted after that
    result      blob    NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS PREFIXmarks (
    name    text    NOT NULL,
    member  text    NOT NULL,
    tag     text    NOT NULL,
    PRIMARY KEY (name, member)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS PREFIXtoggles (
    name   text    NOT NULL,
    member text    NOT NULL,
    is_on  integer NOT NULL,
    seq    integer NOT NULL,
    PRIMARY KEY (name, member)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS PREFIXruns_expires ON PREFIXruns (expires);
CREATE INDEX IF NOT EXISTS PREFIXtoggles_on ON PREFIXtoggles (name) WHERE is_on = 1;
