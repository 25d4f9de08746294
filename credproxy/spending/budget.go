package spending

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Period says which runs a budget counts together, and since when.
type Period string

// The periods. Days and months are those of this machine's clock and time zone.
const (
	PerRun          Period = "run"
	PerDay          Period = "day"           // all runs of the user
	PerMonth        Period = "month"         // all runs of the user
	PerProjectDay   Period = "project-day"   // the runs of one project
	PerProjectMonth Period = "project-month" // the runs of one project
)

var periods = []Period{PerRun, PerDay, PerMonth, PerProjectDay, PerProjectMonth}

// wordsOfTime are those of "5 usd a day": as models' names they would make a budget that no
// request counts for.
var wordsOfTime = strings.Fields("per a an each every for in run hour day week month year project hourly daily weekly monthly yearly " +
	"project-day project-month / today")

// Unit is what a budget counts.
type Unit string

// The units.
const (
	USD      Unit = "usd"      // US dollars at list price, the dearest one for a model without a known price
	Requests Unit = "requests" // answers
	Tokens   Unit = "tokens"   // of all kinds together
	Input    Unit = "input"    // tokens that were not read from the cache
	Output   Unit = "output"   // tokens
)

var units = []Unit{USD, Requests, Tokens, Input, Output}

// Budget bounds what runs use of the model API.
type Budget struct {
	Amount float64 // above 0; a whole number of all units but USD
	Unit   Unit
	Per    Period
	Models []string // patterns of the models that count, see ModelFits; empty = all
}

// maxAmount bounds an amount: larger whole numbers are no longer exact.
const maxAmount = 1 << 53

// Parse reads a budget: AMOUNT UNIT [ "/" PERIOD ] { MODEL }. The amount may end in
// k or M, and without a period it is a run's: "5 usd", "20 usd/day",
// "2M tokens/project-day claude-opus-*".
func Parse(text string) (Budget, error) {
	fields := strings.Fields(text)
	if len(fields) > 0 { // "5usd" is "5 usd"
		if n := strings.TrimLeft(fields[0], "0123456789.kM"); n != "" && n != fields[0] {
			fields = append([]string{strings.TrimSuffix(fields[0], n), n}, fields[1:]...)
		}
	}
	if len(fields) < 2 {
		return Budget{}, fmt.Errorf("%q is no amount with a unit", text)
	}
	unit, period, found := strings.Cut(fields[1], "/")
	b := Budget{Unit: Unit(strings.ToLower(unit)), Per: Period(period), Models: fields[2:]}
	if !found {
		b.Per = PerRun
	}
	if len(b.Models) == 0 {
		b.Models = nil
	}
	switch {
	case !slices.Contains(units, b.Unit):
		return Budget{}, fmt.Errorf("%q is not a unit: %s", unit, words(units))
	case !slices.Contains(periods, b.Per):
		return Budget{}, fmt.Errorf("%q is not a period: %s", period, words(periods))
	}
	for _, pattern := range b.Models {
		switch {
		case slices.Contains(wordsOfTime, strings.ToLower(pattern)):
			return Budget{}, fmt.Errorf("%q is no model's name; a period is written %s/%s, one of %s", pattern, b.Unit, PerDay, words(periods))
		case !IsModelPattern(pattern):
			return Budget{}, fmt.Errorf("%q is no model's name", pattern)
		}
	}
	var err error
	b.Amount, err = parseAmount(fields[0], b.Unit == USD)
	return b, err
}

func words[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, t := range all {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

var amountForm = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,9})?[kM]?$`)

func parseAmount(text string, parts bool) (float64, error) {
	number, factor := text, 1.0
	if n, ok := strings.CutSuffix(text, "k"); ok {
		number, factor = n, 1e3
	} else if n, ok := strings.CutSuffix(text, "M"); ok {
		number, factor = n, 1e6
	}
	n, err := strconv.ParseFloat(number, 64)
	n *= factor
	switch {
	case err != nil || !amountForm.MatchString(text):
		return 0, fmt.Errorf("%q is no amount", text)
	case n <= 0:
		return 0, fmt.Errorf("%q is not above 0", text)
	case n > maxAmount:
		return 0, fmt.Errorf("%q is too much", text)
	case !parts && n != math.Trunc(n):
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return n, nil
}

// String is the budget as Parse reads it.
func (b Budget) String() string {
	text := strconv.FormatFloat(b.Amount, 'f', -1, 64) + " " + string(b.Unit) + "/" + string(b.Per)
	return strings.Join(append([]string{text}, b.Models...), " ")
}

// MarshalText is String.
func (b Budget) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Words name the budget in a sentence: "today's budget of 20 US dollars".
func (b Budget) Words() string {
	text := map[Period]string{
		PerRun: "this run's budget", PerDay: "today's budget", PerMonth: "this month's budget",
		PerProjectDay: "the project's budget of today,", PerProjectMonth: "the project's budget of this month,",
	}[b.Per]
	unit := map[Unit]string{USD: "US dollars", Requests: "answers", Tokens: "tokens", Input: "input tokens", Output: "output tokens"}[b.Unit]
	join := " of "
	if strings.HasSuffix(text, ",") {
		join = " "
	}
	text += join + strconv.FormatFloat(b.Amount, 'f', -1, 64) + " " + unit
	if len(b.Models) > 0 {
		text += " for " + strings.Join(b.Models, ", ")
	}
	return text
}

// Counts reports whether a model's use counts.
func (b Budget) Counts(model string) bool { return len(b.Models) == 0 || ModelFits(b.Models, model) }

// Used is the part of the budget that was spent: 1 and more = it is used up.
func (b Budget) Used(s Spent) float64 {
	used := s.USD
	switch b.Unit {
	case Requests:
		used = float64(s.Requests)
	case Tokens:
		used = float64(s.Input + s.Output + s.CacheRead + s.CacheWrite)
	case Input:
		used = float64(s.Input + s.CacheWrite)
	case Output:
		used = float64(s.Output)
	}
	return used / b.Amount
}

// version is what may follow a model's name: the date of one version of it.
var version = regexp.MustCompile(`(-20[0-9]{6}|@20[0-9]{6}|-20[0-9]{2}-[0-9]{2}-[0-9]{2}|-latest)$`)

// WithoutVersion returns a model's name without the date at its end.
func WithoutVersion(model string) string { return version.ReplaceAllString(model, "") }

// ModelFits reports whether a model's name fits one of patterns, in which "*"
// stands for any letters, also "/". The date at the end of a name need not be written.
func ModelFits(patterns []string, model string) bool {
	plain := strings.NewReplacer("/", ":") // path.Match has another "*" for it
	model = plain.Replace(model)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = plain.Replace(pattern)
		for _, name := range []string{model, WithoutVersion(model)} {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return false
	})
}

var modelPattern = regexp.MustCompile(`^[A-Za-z0-9._:/@*?-]{1,100}$`)

// IsModelPattern reports whether a text can be a pattern of ModelFits.
func IsModelPattern(pattern string) bool { return modelPattern.MatchString(pattern) }
