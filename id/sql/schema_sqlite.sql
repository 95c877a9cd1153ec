CREATE TABLE IF NOT EXISTS id_registers (
  name     TEXT   PRIMARY KEY,
  layout   TEXT   NOT NULL,         -- of those who use the numbers; '' in a new one
  floor_ms BIGINT NOT NULL,         -- no window begins before
  turn     BIGINT NOT NULL          -- counts transactions: its change is their lock
);

CREATE TABLE IF NOT EXISTS id_numbers (
  name     TEXT    NOT NULL,
  number   INTEGER NOT NULL,
  owner    TEXT    NOT NULL,        -- '' if it has been released
  from_ms  BIGINT  NOT NULL,        -- the window of the owner,
  until_ms BIGINT  NOT NULL,        -- or the end of the last one
  PRIMARY KEY (name, number)
);
