package limit

import (
	"fmt"
	"math/bits"
	"time"
)

// Validate says what is wrong with a policy: ErrInvalid, and what to change.
func (p Policy) Validate() error {
	if err := p.check(); err != nil {
		return fmt.Errorf("%w policy: %w", ErrInvalid, err)
	}
	return nil
}

func (p Policy) check() error {
	if p.kind == 0 {
		return fmt.Errorf("there is none: make it with GCRA, FixedWindow, AlignedWindow, SlidingWindow or SlidingCounter")
	}
	if p.limit < 1 || p.limit > MaxUnits {
		return fmt.Errorf("the limit must be 1 to %d units, not %d", MaxUnits, p.limit)
	}
	if p.kind == KindGCRA {
		return p.checkRate()
	}
	if err := checkTime("window", p.window, MinWindow, MaxWindow); err != nil {
		return err
	}
	if p.kind == KindLog {
		return checkTime("grain", p.grain, time.Microsecond, p.window)
	}
	return nil
}

func (p Policy) checkRate() error {
	if p.rate.Units < 1 || p.rate.Units > MaxUnits {
		return fmt.Errorf("the rate must be 1 to %d units, not %d", MaxUnits, p.rate.Units)
	}
	if p.rate.Per < time.Microsecond || p.rate.Per > MaxWindow {
		return fmt.Errorf("the period of the rate must be %s to %s, not %s", time.Microsecond, MaxWindow, p.rate.Per)
	}
	hi, lo := bits.Mul64(uint64(p.limit), uint64(p.rate.Per))
	most, least := bits.Mul64(uint64(p.rate.Units), uint64(MaxRefill))
	if hi > most || hi == most && lo > least {
		return fmt.Errorf("at %d per %s a burst of %d takes more than %s to refill", p.rate.Units, p.rate.Per, p.limit, MaxRefill)
	}
	return nil
}

// checkTime checks a time that is counted in whole microseconds.
func checkTime(name string, d, least, most time.Duration) error {
	if d < least || d > most || d%time.Microsecond != 0 {
		return fmt.Errorf("the %s must be %s to %s in whole microseconds, not %s", name, least, most, d)
	}
	return nil
}

// CheckKey says whether a store takes a key: 1 to MaxKey bytes, of any kind.
func CheckKey(key string) error {
	if len(key) < 1 || len(key) > MaxKey {
		return fmt.Errorf("%w key: it must have 1 to %d bytes, not %d", ErrInvalid, MaxKey, len(key))
	}
	return nil
}

// CheckUnits says whether n units can ever be taken: not negative, and not more
// than the limit.
func (p Policy) CheckUnits(n int64) error {
	switch {
	case n < 0:
		return fmt.Errorf("%w number of units: %d", ErrInvalid, n)
	case n > p.limit:
		return fmt.Errorf("%w: %d units of %s", ErrTooLarge, n, p)
	}
	return nil
}
