package lab

import "context"

// sqlVersion is optimistic: read the row with its version, and update it only if
// the version is still the same (compare and swap).
//
// It holds: of all who read one version, one writes. All others are turned away
// although there is stock, or have to try again, and in a stampede that is nearly
// everybody: the column "turned away" counts them.
func sqlVersion(d dialect) Way {
	return sqlWay(d, Way{
		Name: "sql-version", Title: "version column, compare and swap",
		Why: "Only one of those who read a version can write it: safe, and in a rush nearly everybody is turned away with stock left.",
		Promises: Promises{NeverOversells: true, OncePerUser: true, SurvivesPause: true,
			SurvivesCrash: true, ObeysAdmin: true},
	}, false, func(s sqlShop) Seller { return versionSeller{s} })
}

type versionSeller struct{ sqlShop }

// Buy tries once.
func (s versionSeller) Buy(ctx context.Context, o Order) (Answer, error) {
	return s.within(ctx, func(t *tx) (Answer, error) {
		left, version := 0, 0
		if err := t.read(ctx, "SELECT units, version FROM lab_stock", nil, &left, &version); err != nil {
			return 0, err
		}
		if left <= 0 {
			return SoldOut, nil
		}
		if has, err := t.has(ctx, o.User); err != nil || has {
			return Already, err
		}
		t.work.do(ctx)
		swapped, err := t.change(ctx, "UPDATE lab_stock SET units = ?, version = ? WHERE version = ?", left-1, version+1, version)
		if err != nil {
			return 0, err
		}
		if swapped == 0 {
			return Contended, nil
		}
		return Granted, t.record(ctx, o)
	})
}
