package detect

import "github.com/org/claude-sandbox/internal/lazyregexp"

// browser is a package that fetches a browser when it is installed, or on demand.
type browser struct {
	file   *lazyregexp.Regexp // in a file that lists dependencies
	preset string             // where the browser comes from; "" = hosts
	hosts  []string
	reason string
}

var browsers = []browser{
	{file: lazyregexp.New(`(?:^|["'\s])(?:@playwright/test|pytest-playwright|playwright)["']?\s*(?:[:=<>~,\]]|$)`),
		preset: "playwright", reason: "browsers of Playwright"},
	{file: lazyregexp.New(`"puppeteer"\s*:`), hosts: []string{"storage.googleapis.com"},
		reason: "browsers of Puppeteer, from a name that holds everybody's buckets; its install works without"},
	{file: lazyregexp.New(`"cypress"\s*:`), hosts: []string{"download.cypress.io", "cdn.cypress.io"},
		reason: "the program of Cypress, without which its install fails"},
}

// browsers proposes where browsers for tests come from.
func (l *look) browsers() {
	for _, name := range []string{"package.json", "pyproject.toml", "requirements.txt"} {
		l.tree.each(name, func(file string) {
			l.lines(file, func(line int, text []byte) {
				for _, b := range browsers {
					if !b.file.Match(text) {
						continue
					}
					if b.preset != "" {
						add(&l.report.Presets, Proposal{Value: b.preset, Reason: b.reason, File: file, Line: line})
					}
					for _, host := range b.hosts {
						add(&l.report.Hosts, Proposal{Value: host, Reason: b.reason, File: file, Line: line})
					}
				}
			})
		})
	}
}
