package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrOverride means that a body asks for another method than the request's.
var ErrOverride = errors.New("the body names another method than the request's, as _method")

// overrides are the members of a body, and the parameters, by which servers take a POST for
// another method: of Rack, Symfony, Laravel and Express with method-override; of Salesforce;
// and of ASP.NET and others that take the fields of a head for parameters, too.
var overrides = []string{"_method", "_httpmethod", "x-http-method-override", "x-http-method", "x-method-override"}

func namesMethod(name string) bool { return slices.Contains(overrides, strings.ToLower(name)) }

// screenOverride returns what a POST's body must pass through, or nil: it fails with
// ErrOverride where a form or a JSON text has one of overrides. CakePHP looks into the forms of
// PUT, PATCH and DELETE, too. Nothing is held back, and
// a server that did not get a body to its end does not act on it. A compressed body is read
// here, as far as maxCoded.
func screenOverride(req *Request, body *Body) (screen func(io.Reader) io.Reader, err error) {
	kind := strings.ToLower(strings.Join(req.Header["Content-Type"], ","))
	if req.Method != http.MethodPost && !strings.Contains(kind, "urlencoded") {
		return nil, nil
	}
	var find func() finder
	switch {
	case strings.TrimSpace(kind) == "", strings.Contains(kind, "urlencoded"):
		find = func() finder { return &formNames{} }
	case strings.Contains(kind, "multipart"):
		find = func() finder { return &partNames{} }
	case strings.Contains(kind, "json"):
		find = func() finder { return &jsonNames{} }
	default:
		return nil, nil
	}
	if !LikeASCII(kind) { // servers decode names by it
		return nil, errCharset
	}
	if len(req.Header["Content-Encoding"]) == 0 {
		return func(body io.Reader) io.Reader { return &screened{body, find()} }, nil
	}
	text, err := decodedWhole(req.Header, body, maxCoded)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, &screened{bytes.NewReader(text), find()})
	return nil, err
}

var errCharset = errors.New("the body is in a set of characters that is not read here")

// asciiSets are beginnings of the names of sets of characters in which the bytes of ASCII are
// as in ASCII, and mean nothing else at the beginning of a character.
var asciiSets = []string{
	"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-", "latin1", "windows-125", "koi8-", "euc-", "big5", "gb2312", "gbk", "gb18030",
	"shift_jis", "binary",
}

// LikeASCII reports whether a type of content names no set of characters but those in which
// the bytes of ASCII are as in ASCII.
func LikeASCII(kind string) bool {
	for _, rest := range strings.Split(strings.ToLower(kind), "charset")[1:] {
		end := strings.IndexAny(rest, ";,")
		if end < 0 {
			end = len(rest)
		}
		set, named := strings.CutPrefix(strings.TrimSpace(rest[:end]), "=")
		set = strings.Trim(set, " \t\"'")
		if !named || !slices.ContainsFunc(asciiSets, func(begin string) bool { return strings.HasPrefix(set, begin) }) {
			return false
		}
	}
	return true
}

// finder looks for one of overrides in a text, byte by byte.
type finder interface {
	next(c byte) (found bool)
}

type screened struct {
	from io.Reader
	find finder
}

func (s *screened) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	for _, c := range p[:n] {
		if s.find.next(c) {
			return 0, ErrOverride
		}
	}
	return n, err
}

// maxName bounds what is kept of a name, in bytes: with each of its letters encoded,
// one of overrides is shorter.
const maxName = 160

// formNames reads "name=value&name=value".
type formNames struct {
	name    []byte
	full    bool // it is longer than what is kept
	inValue bool
}

// beginnings are signs that servers leave out at the beginning of a name: blanks (PHP), and brackets
// (Rack), of which one stays.
var beginnings = regexp.MustCompile(`(?i)^(?:(?:[+ ]|%20)+|(?:[\[\]]|%5[bd])*([\[\]]|%5[bd]))`)

func (f *formNames) next(c byte) bool {
	switch {
	case c == '&' || c == ';':
		found := !f.inValue && isOverride(string(f.name))
		f.name, f.full, f.inValue = f.name[:0], false, false
		return found
	case f.inValue:
	case c == '=':
		f.inValue = true
		return isOverride(string(f.name))
	case len(f.name) < maxName:
		f.name = append(f.name, c)
	case !f.full:
		f.name = append(beginnings.ReplaceAll(f.name, []byte("$1")), c)
		f.full = len(f.name) > maxName
	}
	return false
}

// isOverride reports whether some server takes a name, encoded as in a query, for one of
// overrides. PHP writes "_" for characters that its names do not have, and ends them at a
// zero byte. Rack and Express leave out brackets around a name.
func isOverride(name string) bool {
	decoded, _, _ := strings.Cut(decodedName(name), "\x00")
	decoded = strings.TrimSpace(decoded)
	return namesMethod(strings.Trim(decoded, "[]")) || namesMethod(strings.NewReplacer(".", "_", " ", "_", "[", "_").Replace(decoded))
}

// escapes are those of a query, and those that ASP.NET reads there.
var escapes = regexp.MustCompile(`%[0-9A-Fa-f]{2}|%u00[0-9A-Fa-f]{2}|\+`)

// decodedName decodes a name as servers do that leave alone what is no escape.
func decodedName(name string) string {
	return escapes.ReplaceAllStringFunc(name, func(escape string) string {
		if escape == "+" {
			return " "
		}
		c, _ := strconv.ParseUint(escape[len(escape)-2:], 16, 8)
		return string([]byte{byte(c)})
	})
}

// partNames reads the Content-Disposition of each part, which names it, with its folded
// lines.
type partNames struct {
	line  []byte
	ended bool // unless the next byte folds it
}

// maxLine bounds what is kept of a line, in bytes; one of a part's name is shorter.
const maxLine = 16 << 10

func (f *partNames) next(c byte) bool {
	switch {
	case c == '\n' || c == '\r':
		f.ended = true
		return f.isOverride()
	case f.ended && c != ' ' && c != '\t':
		f.line = f.line[:0]
	}
	f.ended = false
	if len(f.line) < maxLine {
		f.line = append(f.line, c)
	}
	return false
}

// isOverride reports whether the line names a part as one of overrides, or in a way that no client
// does (RFC 7578 section 4.2).
func (f *partNames) isOverride() bool {
	line := strings.ToLower(string(f.line))
	if !strings.HasPrefix(strings.TrimSpace(line), "content-disposition") {
		return false
	}
	plain := strings.NewReplacer("filename", "", `\`, "", `"`, "", "'", "", " ", "", "\t", "").Replace(line)
	if len(f.line) == maxLine || strings.Contains(plain, "name*") {
		return true
	}
	for _, rest := range strings.Split(plain, "name=")[1:] {
		name, _, _ := strings.Cut(rest, ";")
		if isOverride(name) {
			return true
		}
	}
	return false
}

// jsonNames reads the names of a JSON text's members, at any depth. A zero byte is of a text
// in UTF-16 or UTF-32, which some servers recognise by it.
type jsonNames struct {
	text                       []byte
	inText, escaped, lastNamed bool
}

func (f *jsonNames) next(c byte) bool {
	switch {
	case c == 0:
		return true
	case f.inText && f.escaped:
		f.escaped = false
	case f.inText && c == '\\':
		f.escaped = true
	case f.inText && c == '"':
		f.inText = false
		var name string
		f.lastNamed = json.Unmarshal(append(f.text, '"'), &name) == nil && namesMethod(name)
		return false
	case !f.inText && c == '"':
		f.inText, f.text = true, append(f.text[:0], c)
		return false
	case !f.inText:
		found := f.lastNamed && c == ':'
		f.lastNamed = f.lastNamed && strings.IndexByte(" \t\r\n", c) >= 0
		return found
	}
	if len(f.text) < maxName {
		f.text = append(f.text, c)
	}
	return false
}
