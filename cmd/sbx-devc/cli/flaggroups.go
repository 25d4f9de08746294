package cli

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// annotationGroup holds the title under which the help shows a flag.
const annotationGroup = "group"

// Group registers flags and puts them under a title in the help, except for those that
// register itself has put under another one.
func Group(f *pflag.FlagSet, title string, register func(*pflag.FlagSet)) {
	fresh := pflag.NewFlagSet("", pflag.ContinueOnError)
	fresh.SortFlags, f.SortFlags = false, false
	register(fresh)
	fresh.VisitAll(func(flag *pflag.Flag) {
		if GroupOf(flag) == "" {
			_ = fresh.SetAnnotation(flag.Name, annotationGroup, []string{title}) // errs for flags that are not there
		}
		f.AddFlag(flag)
	})
}

// GroupOf is the title that Group gave a flag; "" = none.
func GroupOf(flag *pflag.Flag) string {
	if title := flag.Annotations[annotationGroup]; len(title) > 0 {
		return title[0]
	}
	return ""
}

// otherFlags is the title of flags without a group, and onlyFlags that where no flag of the command has one.
const otherFlags, onlyFlags = "Other flags", "Flags"

// groupedFlags is the part of a command's help about its flags. columns is the width of
// the terminal, 0 = of none.
func groupedFlags(cmd *cobra.Command, columns int) string {
	sets := map[string]*pflag.FlagSet{}
	var titles []string
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		title := GroupOf(flag)
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			sets[title].SortFlags = false
			titles = append(titles, title)
		}
		sets[title].AddFlag(flag)
	})
	slices.SortStableFunc(titles, func(a, b string) int { // those without a title come last
		return map[bool]int{true: 1}[a == ""] - map[bool]int{true: 1}[b == ""]
	})
	var text strings.Builder
	for _, title := range titles {
		usages := sets[title].FlagUsagesWrapped(columns)
		if usages == "" {
			continue
		}
		switch {
		case title == "" && len(titles) == 1:
			title = onlyFlags
		case title == "":
			title = otherFlags
		}
		text.WriteString("\n" + title + ":\n" + usages)
	}
	return text.String()
}

// ShapeHelp gives root and all below it one form of help: how to call the command, with
// examples, comes before the text and the flags by their groups.
func ShapeHelp(root *cobra.Command, columns int) {
	cobra.EnableCommandSorting = false // the groups have an order of their own
	cobra.AddTemplateFunc("groupedFlags", func(cmd *cobra.Command) string { return groupedFlags(cmd, columns) })
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(helpTemplate)
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { // cobra prints what a template's writer says; Main says it better
		var text bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		show(cmd, args)
		cmd.SetOut(out)
		_, _ = text.WriteTo(out)
	})
}

// helpTemplate is cobra's, in another order.
const helpTemplate = `{{.Short}}

Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{with .Long}}
{{. | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableSubCommands}}{{$all := .Commands}}{{range $group := .Groups}}
{{.Title}}{{range $all}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{if not .AllChildCommandsHaveGroup}}
{{if .Groups}}Other{{else}}Commands:{{end}}{{range $all}}{{if and (eq .GroupID "") .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{end}}{{if .HasAvailableLocalFlags}}{{groupedFlags .}}{{end}}{{if .HasAvailableSubCommands}}
"{{.CommandPath}} COMMAND --help" tells more about a command.
{{end}}`
