package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
)

// newFlags returns a flag set that leaves printing to main.
func newFlags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// parseFlags reads args and returns those that are no flags. Unlike package
// flag alone it also takes flags behind them, up to "--".
func parseFlags(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, usageError("%s takes its options as 'sbx-init help' shows", fs.Name())
			}
			return nil, usageError("%s: %w", fs.Name(), err)
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		if consumed := len(args) - fs.NArg(); consumed > 0 && args[consumed-1] == "--" {
			return append(rest, fs.Args()...), nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// splitCommand divides args at the first "--"; found says whether there is one.
func splitCommand(args []string) (flags, command []string, found bool) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:], true
	}
	return args, nil, false
}

// addPrefixes returns the reader of a flag that holds addresses and networks,
// separated by commas, and adds them to list.
func addPrefixes(list *[]netip.Prefix) func(string) error {
	return func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			prefix, err := netip.ParsePrefix(word)
			if addr, notPrefix := netip.ParseAddr(word); notPrefix == nil {
				prefix, err = netip.PrefixFrom(addr.Unmap().WithZone(""), addr.Unmap().BitLen()), nil
			}
			if err != nil {
				return fmt.Errorf("%q is neither an address nor a network", word)
			}
			*list = append(*list, prefix)
		}
		return nil
	}
}
