-- What several nodes need to agree: the version of a sale's rules, and into how
-- many shards its stock is divided.

-- +goose Up
ALTER TABLE sales ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sales ADD COLUMN shards  INTEGER NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE sales DROP COLUMN shards;
ALTER TABLE sales DROP COLUMN version;
