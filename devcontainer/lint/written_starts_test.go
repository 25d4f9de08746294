package lint_test

import "testing"

// writtenStarts are mistakes that the official CLI and the engine showed, when they were asked about the others.
var writtenStarts = []pair{
	{"whole system on nothing", `error SBX755 FROM scratch`, "FROM debian:12 AS b\nFROM scratch\nCOPY --from=b / /\n",
		"FROM scratch AS f\nCOPY a /a\nFROM debian:12\nCOPY --from=f /a /a\n-- .devcontainer/a --\n"},
	{"key for apt without gpg", `error SBX749 apt-key`,
		"FROM debian:12\nCOPY k.asc /k.asc\nRUN apt-key add /k.asc\n-- .devcontainer/k.asc --\n",
		"FROM debian:12\n" + apt + "gnupg\nCOPY k.asc /k.asc\nRUN apt-key add /k.asc\n-- .devcontainer/k.asc --\n"},
	{"key for apt of a release that has gpg", `SBX749`, "", "FROM debian:jessie\nCOPY k.asc /k.asc\nRUN apt-key add /k.asc\n" +
		"-- .devcontainer/k.asc --\n"},
	{"lock of pnpm for what depends on nothing", `error SBX318 "pnpm`, imaged("a:1",
		`, "postCreateCommand": "pnpm install --frozen-lockfile"`) +
		"\n-- package.json --\n" + `{"devDependencies": {"left-pad": "1.3.0"}}`,
		imaged("a:1", `, "postCreateCommand": "pnpm install --frozen-lockfile"`) + packageJSON},
}

func TestWrittenStarts(t *testing.T) { testPairs(t, writtenStarts) }
