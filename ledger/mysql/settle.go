package mysql

import (
	"context"
	"errors"
	"time"

	"rushgate"
	"rushgate/ledger/entry"
)

// errAbsent ends a transaction that found that its batch is not there.
var errAbsent = errors.New("the batch was not recorded")

// Recorded implements [rushgate.Ledger]. To look for the batch would not do: the
// transaction of a lost connection may yet commit. So the id is written once
// more. While any transaction that wrote it is still there, the server lets us
// wait for its end: longer than a silent client may keep it.
//
// What is found may be visible, and yet be on its way to the disk. A commit of
// our own behind it has it written: the log is one, and in order.
func (l *Ledger) Recorded(ctx context.Context, b *rushgate.Batch) (bool, error) {
	if l.readOnly {
		return l.seen(ctx, b)
	}
	waits := 2 + int(silentClient/(time.Second*time.Duration(seconds(l.opts.LockWait))))
	err := l.write(ctx, task{l.w, waits, plain}, func(t *tx) error {
		there := false
		err := t.flush() // so that what follows is alone, and its refusal an answer
		if err == nil {
			err = t.add(func(_ int64, refused error) error {
				if there = number(refused) == erDuplicate; there {
					return nil
				}
				return refused
			}, `INSERT INTO batches (id, at) VALUES (?, ?)`, b.ID, entry.Millis(b.At))
		}
		if err == nil {
			err = t.flush()
		}
		if err == nil && !there {
			err = errAbsent
		}
		if err != nil {
			return err
		}
		return t.add(nil, `UPDATE ledger SET settled = settled + 1`)
	})
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil, wrap("look for a batch", err)
}

// seen looks for a batch without writing.
func (l *Ledger) seen(ctx context.Context, b *rushgate.Batch) (bool, error) {
	var found bool
	err := l.short.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM batches WHERE id = ?)`, b.ID).Scan(&found)
	return found, wrap("look for a batch", err)
}
