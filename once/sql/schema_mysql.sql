-- PREFIX stands for Options.Prefix. Times are microseconds since 1970, of the server's clock.
-- Names are bytes: a collation would take "a" and "A" for the same.
CREATE TABLE IF NOT EXISTS PREFIXruns (
    name        varbinary(255) PRIMARY KEY,
    phase       smallint       NOT NULL,      -- 1 an attempt has the key, 3 done, 4 failed, 0 free
    owner       varbinary(32)  NOT NULL,
    fingerprint varbinary(32)  NOT NULL,
    token       bigint         NOT NULL,
    number      integer        NOT NULL,
    lease_ends  bigint         NOT NULL,      -- of phase 1
    expires     bigint         NOT NULL,      -- the row may be deleted after that
    result      longblob       NOT NULL,
    KEY PREFIXruns_expires (expires)
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS PREFIXmarks (
    name    varbinary(255) NOT NULL,
    member  varbinary(255) NOT NULL,
    tag     varbinary(255) NOT NULL,
    PRIMARY KEY (name, member)
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS PREFIXtoggles (
    name   varbinary(255) NOT NULL,
    member varbinary(255) NOT NULL,
    is_on  smallint       NOT NULL,
    seq    bigint         NOT NULL,
    PRIMARY KEY (name, member),
    KEY PREFIXtoggles_on (name, is_on)
) ENGINE=InnoDB;
