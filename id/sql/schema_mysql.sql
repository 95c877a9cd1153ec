CREATE TABLE IF NOT EXISTS id_registers (
  name     VARCHAR(64) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  layout   VARCHAR(64) NOT NULL,    -- of those who use the numbers; '' in a new one
  floor_ms BIGINT NOT NULL,         -- no window begins before
  turn     BIGINT NOT NULL          -- counts transactions: its change is their lock
) ENGINE=InnoDB CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS id_numbers (
  name     VARCHAR(64) COLLATE utf8mb4_bin NOT NULL,
  number   INTEGER NOT NULL,
  owner    VARCHAR(64) NOT NULL,    -- '' if it has been released
  from_ms  BIGINT  NOT NULL,        -- the window of the owner,
  until_ms BIGINT  NOT NULL,        -- or the end of the last one
  PRIMARY KEY (name, number)
) ENGINE=InnoDB CHARACTER SET utf8mb4;
