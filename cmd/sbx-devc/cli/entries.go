package cli

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/org/claude-sandbox/settings"
)

// Entries registers a flag whose values are entries of a network's list, several with
// commas between them, and which may be given again. Typed entries may hold commas.
func Entries(f *pflag.FlagSet, list *[]string, name, usage string) {
	f.Var(&entriesValue{list}, name, usage)
}

type entriesValue struct{ list *[]string }

func (v *entriesValue) Set(text string) error {
	entries := settings.SplitEntries(text, func(c rune) bool { return c == ',' })
	if strings.Contains(text, `"`) { // as other lists: a name with a comma in quotes
		var err error
		if entries, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return fmt.Errorf("%q is no list: %w", text, err)
		}
	}
	if len(entries) == 0 {
		entries = []string{text} // which is refused as an entry, and not passed over
	}
	*v.list = append(*v.list, entries...)
	return nil
}

// Type is that of every flag with a list, by which the help names the value.
func (v *entriesValue) Type() string { return "stringSlice" }

func (v *entriesValue) String() string {
	if v.list == nil || len(*v.list) == 0 {
		return "" // which the help does not print
	}
	return "[" + strings.Join(*v.list, ",") + "]"
}
