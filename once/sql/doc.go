// Package oncesql keeps what package once needs in a database, through
// database/sql: PostgreSQL, MySQL, MariaDB and SQLite, with whatever driver the
// program uses. (The folder is sql; a package of that name would hide
// database/sql wherever both are used.)
//
//	db, err := sql.Open("pgx", url)
//	store, err := oncesql.New(db, oncesql.Postgres, oncesql.Options{})
//	err = store.CreateTables(ctx) // or put store.Schema() into your migrations
//
// # Exactly once
//
// DoTx runs work in a transaction together with its key: what the work changes in
// this database, the key and the result are committed together or not at all. It is
// the unique key of a table that decides, so there are no leases, and a
// crash leaves nothing behind: the database undoes it. Those who come meanwhile wait
// in the database for the end of the transaction. Use it whenever the work is SQL.
//
// What the work does elsewhere (a mail, a call) is not undone with the
// transaction: write it down in the same transaction, and let a relay send it.
//
// # Do, Marks, Toggles
//
// The Store is also one for once.New, once.NewMarks and once.NewToggles. It reads,
// decides, and writes only if nobody has written meanwhile, on the clock of the
// server; bulk calls are one statement (MySQL: a transaction of two). A mark is a row with a unique
// key. Counting toggles counts an index: no row that all would wait for.
// Those who wait for somebody else's attempt ask, every few milliseconds at first
// and every half second later, as database/sql cannot tell them.
//
// Marks are kept until they are undone, or their set is forgotten: name sets by their
// campaign or day. Results expire, and Sweep deletes them.
//
// # Settings
//
// PostgreSQL: any; with SERIALIZABLE, races are tried again. MySQL and MariaDB: any
// isolation; `interpolateParams=true` saves a round trip for each statement;
// max_allowed_packet (16 MiB unless set) must be above MaxResult, or a result that is
// larger is ErrUnrecorded. SQLite: give
// the DSN a busy timeout and WAL, with modernc.org/sqlite
// `file:shop.db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)`.
//
// The level of durability is that of the database (synchronous_commit,
// innodb_flush_log_at_trx_commit, synchronous): with a weaker one, a crash of the
// machine may forget the latest, key and work together.
package oncesql
