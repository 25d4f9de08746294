package progress

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/visible"
)

// Reporter is where steps are told.
type Reporter struct {
	Out     io.Writer
	Columns int          // of the terminal that Out is; 0 = Out is none
	Verbose bool         // the full log goes to Out as it comes, in the place of the drawn line
	LogFile string       // the full log of the last step that failed; "" = none is kept
	Log     *slog.Logger // gets steps at level info, lines of their logs at debug; nil = none

	idle *idle // nil = no pause between steps is shown
}

// tick is how often lines are drawn again at most.
const tick = 200 * time.Millisecond

// maxLog bounds what is kept of a step's log, in bytes: the end of it.
const maxLog = 4 << 20

// Step is one piece of work under way. It is safe for concurrent use.
type Step struct {
	r     *Reporter
	text  string
	begin time.Time
	stop  chan struct{}
	done  sync.WaitGroup

	mu      sync.Mutex
	log     []byte
	partial []byte // of the line that is not complete yet
	part    string // of the work, as the log names it
}

// Begin tells that a step begins, in words such as "building the image X". End must
// follow.
func (r *Reporter) Begin(text string) *Step {
	s := &Step{r: r, text: visible.Line(text), begin: time.Now(), stop: make(chan struct{})}
	r.idle.busy(1)
	r.log(slog.LevelInfo, s.text)
	if r.Columns == 0 || r.Verbose {
		fmt.Fprintf(r.Out, "sbx-devc: %s\n", s.text)
		return s
	}
	s.done.Go(s.redraw)
	return s
}

// log records a message with its attributes.
func (r *Reporter) log(level slog.Level, message string, attributes ...any) {
	if r.Log != nil {
		r.Log.Log(context.Background(), level, message, attributes...)
	}
}

func (s *Step) redraw() {
	again := time.NewTicker(tick)
	defer again.Stop()
	line := lines{out: s.r.Out, columns: s.r.Columns}
	for {
		line.show(s.line())
		select {
		case <-again.C:
		case <-s.stop:
			line.show()
			return
		}
	}
}

// line says what goes on, and for how long.
func (s *Step) line() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Sprintf("%s · %s", s.text, seconds(time.Since(s.begin)))
	if s.part != "" {
		line += " · " + s.part
	}
	return line
}

// Write takes a piece of the step's log. It never fails.
func (s *Step) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, p...)
	if len(s.log) > 2*maxLog { // twice, so that not every write moves all of it
		s.log = append(s.log[:0], s.log[len(s.log)-maxLog:]...)
	}
	s.partial = append(s.partial, p...)
	for {
		line, rest, whole := bytes.Cut(s.partial, []byte("\n"))
		if !whole && len(line) <= 64<<10 {
			break
		}
		s.partial = rest
		text := strings.TrimRight(visible.Line(string(line)), " \r")
		if part := partOf(text); part != "" {
			s.part = part
		}
		s.r.log(slog.LevelDebug, text)
		if s.r.Verbose {
			fmt.Fprintf(s.r.Out, "  %s\n", text)
		}
	}
	return len(p), nil
}

// builderStep matches the lines with which the classic builder ("Step 2/9 : RUN
// x") and BuildKit ("#7 [stage-1 2/5] RUN x") begin a step.
var builderStep = regexp.MustCompile(`^(?:Step (\d+/\d+) : |#\d+ \[(?:\S+ )?(\d+/\d+)\] )(.*)$`)

// partOf names the part of a build that a line of its log begins, "" when it
// begins none.
func partOf(line string) string {
	m := builderStep.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + " " + strings.Join(strings.Fields(m[3]), " ")
}

// End tells how the work went: in the words done when err is nil, such as "built
// the image X". A failed step leaves its log in Reporter.LogFile and says so; the
// failure itself is the caller's to tell.
func (s *Step) End(done string, err error) {
	close(s.stop)
	s.done.Wait()
	defer s.r.idle.busy(-1)
	took := time.Since(s.begin)
	if err == nil {
		fmt.Fprintf(s.r.Out, "sbx-devc: %s (%s)\n", visible.Line(done), seconds(took))
		s.r.log(slog.LevelInfo, done, "ms", took.Milliseconds())
		return
	}
	s.r.log(slog.LevelError, s.text+": "+err.Error(), "ms", took.Milliseconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r.LogFile == "" || len(s.log) == 0 || s.r.Verbose {
		return
	}
	saveErr := os.MkdirAll(filepath.Dir(s.r.LogFile), 0o700)
	if saveErr == nil {
		saveErr = os.WriteFile(s.r.LogFile, s.log[max(0, len(s.log)-maxLog):], 0o600)
	}
	if saveErr == nil {
		fmt.Fprintf(s.r.Out, "sbx-devc: the full log is in %s\n", s.r.LogFile)
	}
}
