package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"
)

// screen is where people look: a terminal, with colours and bars that move, or
// anything else, with plain lines.
type screen struct {
	w      io.Writer
	moves  bool // the cursor can go back
	colour bool
	width  int // of a terminal, in letters; 0: not known
}

// newScreen finds out what stands behind a writer. NO_COLOR is a promise
// (no-color.org); a dumb terminal cannot go back.
func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	terminal := ok && isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
	s := &screen{w: w, moves: terminal, colour: terminal && os.Getenv("NO_COLOR") == ""}
	if terminal {
		s.width = width(f)
	}
	return s
}

// width asks a terminal how wide it is.
func width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

func (s *screen) line(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// The paints, for those who see them.
func (s *screen) bold(text string) string  { return s.paint("1", text) }
func (s *screen) faint(text string) string { return s.paint("2", text) }
func (s *screen) green(text string) string { return s.paint("32", text) }
func (s *screen) red(text string) string   { return s.paint("31", text) }

func (s *screen) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// progress is a crowd on its way.
type progress struct {
	arrived, people int64
	sold, stock     int64
}

// follow shows the progress until the function that it returns is called,
// which shows it a last time.
func (s *screen) follow(look func() progress) (end func()) {
	every := 80 * time.Millisecond
	if !s.moves {
		every = time.Second
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	if s.moves {
		fmt.Fprint(s.w, "\x1b[?25l", strings.Join(s.bars(look()), "\n"), "\n")
	}
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				s.redraw(look())
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
		s.redraw(look())
		if s.moves {
			fmt.Fprint(s.w, "\x1b[?25h")
		}
	}
}

func (s *screen) redraw(p progress) {
	if !s.moves {
		s.line("  %s of %s people have their answer, %s of %s phones are sold",
			grouped(p.arrived), grouped(p.people), grouped(p.sold), grouped(p.stock))
		return
	}
	bars := s.bars(p)
	fmt.Fprintf(s.w, "\x1b[%dA", len(bars))
	for _, b := range bars {
		fmt.Fprint(s.w, "\x1b[2K", b, "\n")
	}
}

func (s *screen) bars(p progress) []string {
	return []string{
		fmt.Sprintf("  people   %s %s of %s", s.bar(p.arrived, p.people), grouped(p.arrived), grouped(p.people)),
		fmt.Sprintf("  phones   %s %s of %s", s.green(s.bar(p.sold, p.stock)), grouped(p.sold), grouped(p.stock)),
	}
}

const barWidth = 40

func (s *screen) bar(n, of int64) string {
	full := int(min(n, of) * barWidth / max(of, 1))
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// grouped writes 20000 as 20,000.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
