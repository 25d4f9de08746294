package diag

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/org/claude-sandbox/internal/visible"
)

// RuleInfo describes a rule in a report.
type RuleInfo struct {
	ID, Name      string
	Severity      Severity
	Title, Reason string
	Markdown      string // the whole explanation
	URI           string // where to read it
	Tags          []string
}

// Tool is who made a report.
type Tool struct {
	Name, Version, URI string
	Rules              []RuleInfo // those that findings name must be among them
}

// The parts of SARIF 2.1.0 that a report has (OASIS standard, section numbers
// in the specification).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool       map[string]sarifDriver `json:"tool"`
		ColumnKind string                 `json:"columnKind"`
		Bases      map[string]sarifBase   `json:"originalUriBaseIds"`
		Calls      []sarifCall            `json:"invocations"`
		Results    []sarifResult          `json:"results"`
	}
	sarifCall struct { // 3.20
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct { // 3.58
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifNotified `json:"locations,omitempty"`
	}
	sarifNotified struct {
		Physical struct {
			Artifact sarifArtifact `json:"artifactLocation"`
		} `json:"physicalLocation"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifBase struct {
		Description sarifText `json:"description"`
	}
	sarifDriver struct { // 3.19
		Name    string      `json:"name"`
		Version string      `json:"semanticVersion"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifRule struct { // 3.49
		ID         string          `json:"id"`
		Name       string          `json:"name"`
		Short      sarifText       `json:"shortDescription"`
		Full       sarifText       `json:"fullDescription"`
		Help       sarifText       `json:"help"`
		HelpURI    string          `json:"helpUri"`
		Default    sarifLevel      `json:"defaultConfiguration"`
		Properties sarifProperties `json:"properties"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifProperties struct {
		Tags      []string `json:"tags"`
		Precision string   `json:"precision"`
		// Security is a number from 0 to 10 that GitHub turns into critical
		// (over 9), high (7), medium (4) or low.
		Security string `json:"security-severity,omitempty"`
	}
	sarifResult struct { // 3.27
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact sarifArtifact `json:"artifactLocation"`
			Region   sarifRegion   `json:"region"`
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifRegion struct { // 3.30; columns count UTF-16 code units
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
)

const sourceRoot = "%SRCROOT%"

// WriteSARIF prints findings as a SARIF 2.1.0 log, as code scanning takes it:
// relative paths are the source root's, columns in UTF-16 code units, fingerprints
// that survive when lines move. With problems the run was not successful, so that what is
// no longer found does not count as repaired. Findings about rules that tool does not list
// are an error.
func WriteSARIF(w io.Writer, findings []Finding, problems []Problem, tool Tool, sources Sources) error {
	index := map[string]int{}
	run := sarifRun{ColumnKind: "utf16CodeUnits", Results: []sarifResult{},
		Bases: map[string]sarifBase{sourceRoot: {sarifText{Text: "the root of the repository"}}}}
	driver := sarifDriver{Name: tool.Name, Version: tool.Version, URI: tool.URI, Rules: []sarifRule{}}
	for i, r := range tool.Rules {
		index[r.ID] = i
		driver.Rules = append(driver.Rules,
			sarifRule{ID: r.ID, Name: r.Name, Short: sarifText{Text: r.Title}, Full: sarifText{Text: r.Reason},
				Help: sarifText{Text: r.Title + ". " + r.Reason, Markdown: r.Markdown}, HelpURI: r.URI,
				Default:    sarifLevel{string(r.Severity)},
				Properties: sarifProperties{Tags: r.Tags, Precision: "high", Security: securitySeverity(r)}})
	}
	seen := map[string]int{}
	lines := map[string][]*sourceLine{}
	for _, f := range findings {
		i, ok := index[f.Rule]
		if !ok {
			return fmt.Errorf("rule %s is not in the table", f.Rule)
		}
		if _, ok := lines[f.File]; !ok {
			lines[f.File] = linesOf(sources(f.File))
		}
		run.Results = append(run.Results, sarifResultOf(f, i, lines[f.File], seen))
	}
	call := sarifCall{Successful: len(problems) == 0}
	for _, p := range problems {
		n := sarifNotification{Level: "error", Message: sarifText{Text: p.text()}}
		if p.File != "" {
			var at sarifNotified
			at.Physical.Artifact.URI, at.Physical.Artifact.Base = artifact(p.File)
			n.Locations = []sarifNotified{at}
		}
		call.Notifications = append(call.Notifications, n)
	}
	run.Calls = []sarifCall{call}
	run.Tool = map[string]sarifDriver{"driver": driver}
	return visible.WriteJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "  ")
}

func securitySeverity(r RuleInfo) string {
	for _, t := range r.Tags {
		if t == "security" {
			return map[Severity]string{SeverityError: "8.0", SeverityWarning: "5.0"}[r.Severity]
		}
	}
	return ""
}

func sarifResultOf(f Finding, index int, lines []*sourceLine, seen map[string]int) sarifResult {
	message := f.Message
	if f.Hint != "" {
		message += " (" + f.Hint + ")"
	}
	line := func(n int) *sourceLine {
		if n >= 1 && n <= len(lines) {
			return lines[n-1]
		}
		return &sourceLine{}
	}
	r := sarifResult{RuleID: f.Rule, RuleIndex: index, Level: string(f.Severity), Message: sarifText{Text: Unmasked(message)}}
	var at sarifLocation
	at.Physical.Artifact.URI, at.Physical.Artifact.Base = artifact(f.File)
	at.Physical.Region = sarifRegion{max(f.Line, 1), line(f.Line).utf16Column(f.Column), max(f.EndLine, f.Line, 1),
		line(f.EndLine).utf16Column(f.EndColumn)}
	if f.Pointer != "" {
		at.Logical = []sarifLogical{{f.Pointer, "member"}}
	}
	r.Locations = []sarifLocation{at}
	// A finding is identified by the rule, the file, where in the tree and
	// the text of the line; never its number.
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, at.Physical.Artifact.URI, f.Pointer, line(f.Line).identity()},
		"\x00")))
	key := hex.EncodeToString(sum[:8])
	seen[key]++
	r.Fingerprints = map[string]string{"primaryLocationLineHash": fmt.Sprintf("%s:%d", key, seen[key])}
	return r
}

// artifact writes a path as a URI, relative to the source root unless it leads
// out of it.
func artifact(file string) (uri, base string) {
	file = filepath.ToSlash(file)
	if file == "-" {
		return "stdin", ""
	}
	if filepath.IsAbs(file) || path.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(file, "/")}).String(), ""
	}
	u := (&url.URL{Path: path.Clean(file)}).EscapedPath()
	if strings.Contains(strings.SplitN(u, "/", 2)[0], ":") {
		u = "./" + u // RFC 3986 section 4.2: the first segment looks like a scheme
	}
	if strings.HasPrefix(u, "../") {
		return u, ""
	}
	return u, sourceRoot
}

// longLine is the length from which on what is asked of a line is kept: many findings may stand on one.
const longLine = 4 << 10

// sourceLine is a line of a file with findings.
type sourceLine struct {
	text   string
	digest string  // of a long line; "" = not asked yet
	units  []int32 // of a long line: UTF-16 code units in front of each byte; nil = not asked yet
}

func linesOf(src []byte) (out []*sourceLine) {
	for _, text := range strings.Split(strings.TrimPrefix(string(src), "\ufeff"), "\n") {
		out = append(out, &sourceLine{text: text})
	}
	return out
}

// identity is what fingerprints take of the line: its text, or its digest when it is long.
func (l *sourceLine) identity() string {
	if len(l.text) < longLine {
		return strings.TrimSpace(l.text)
	}
	if l.digest == "" {
		sum := sha256.Sum256([]byte(strings.TrimSpace(l.text)))
		l.digest = hex.EncodeToString(sum[:])
	}
	return l.digest
}

// utf16Column turns a 1-based column in bytes into one in UTF-16 code units.
func (l *sourceLine) utf16Column(column int) int {
	if column < 1 {
		return 1
	}
	at := min(column-1, len(l.text))
	behind := column - 1 - at
	if len(l.text) < longLine {
		return utf16Length(l.text[:at]) + 1 + behind
	}
	if l.units == nil {
		l.units = make([]int32, len(l.text)+1)
		for n := range l.units[1:] {
			l.units[n+1] = l.units[n]
			if first := l.text[n]; first < 0x80 || first >= 0xC0 { // the first byte of a character
				l.units[n+1]++
			}
			if l.text[n] >= 0xF0 { // one beyond the basic plane
				l.units[n+1]++
			}
		}
	}
	return int(l.units[at]) + 1 + behind
}

func utf16Length(text string) int { return len(utf16.Encode([]rune(text))) }
