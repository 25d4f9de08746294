package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// Attack: a secret stands in a text in another form, or in pieces.
func TestASecretIsFoundInEveryForm(t *testing.T) {
	const value = `c4nary-Env/"7f3a9c"+Value`
	f := NewFinder([]Named{{"SHORT", "abc"}, {"TOKEN", value}, {"OTHER", "another-Value-55"}})
	eachByte := func(format string) (text string) {
		for _, b := range []byte(value) {
			text += fmt.Sprintf(format, b)
		}
		return text
	}
	inHex := hex.EncodeToString([]byte(value))
	inBase := base64.StdEncoding.EncodeToString([]byte("user:" + value + "\n"))
	for name, text := range map[string]string{
		"as it is":           value,
		"base64":             inBase,
		"base64 in lines":    inBase[:20] + "\n+" + inBase[20:],
		"hex":                inHex,
		"hex as od":          " " + strings.Join(pairs(inHex), " "),
		"hex as a MAC":       strings.ToUpper(strings.Join(pairs(inHex), ":")),
		"url":                url.QueryEscape(value),
		"over two lines":     `x = "c4nary-Env/\"7f3" +` + "\n" + `    "a9c\"+Value"`,
		"an array":           `["c4nary","Env","7f3a9c","Value"]`,
		"hex in both cases":  bothCases(inHex),
		"a C array":          eachByte("0x%02x, "),
		"C in large letters": eachByte("0X%02X,"),
		"escapes in hex":     eachByte(`\x%02x`),
		"escapes in lines":   eachByte(`\x%02X" \` + "\n\""),
		"escapes of JSON":    eachByte(`\u%04X`),
		"escapes of JS":      eachByte(`\u{%x}`),
		"octal escapes":      eachByte(`\%03o`),
		"HTML in hex":        eachByte("&#x%x;"),
		"HTML":               eachByte("&#%d;"),
		"a Buffer in JSON":   "[" + eachByte("%d,"),
		"binary":             eachByte("%08b "),
		"percent, all of it": eachByte("%%%02X"),
		"a written line end": `'` + value[:8] + `\n` + value[8:] + `'`,
		"in JSON in JSON":    `'` + value[:8] + `\\n` + value[8:] + `'`,
		"hex and a line end": inHex[:8] + `\r\n` + inHex[8:],
	} {
		text := "before abc\n" + text + "\nafter"
		found := f.Find([]byte(text))
		if len(found) != 1 || found[0].Name != "TOKEN" {
			t.Errorf("%s: %v", name, found)
			continue
		}
		if left := text[:found[0].At] + text[found[0].At+found[0].Size:]; !strings.HasPrefix(left, "before abc\n") ||
			!strings.HasSuffix(left, "\nafter") ||
			strings.Contains(left, "7f3a") {
			t.Errorf("%s: left %q", name, left)
		}
	}
	for _, text := range []string{"", "abc", "c4nary-Env", "Value of an env"} {
		if found := f.Find([]byte(text)); found != nil {
			t.Errorf("%q: %v", text, found)
		}
	}
	if NewFinder([]Named{{"SHORT", "abc"}}) != nil || (*Finder)(nil).Find([]byte(value)) != nil {
		t.Error("something is found by nothing")
	}
	two := f.Find([]byte("another-Value-55 " + value + " another-Value-55"))
	if len(two) != 3 || two[0].Name != "OTHER" || two[1] != (Place{"TOKEN", 17, len(value)}) || two[2].At != 18+len(value) {
		t.Errorf("got %v", two)
	}
}

// bothCases is hex with every second letter large.
func bothCases(text string) string {
	out := []byte(text)
	for i := 0; i < len(out); i += 3 {
		out[i] = bytes.ToUpper(out[i : i+1])[0]
	}
	return string(out)
}

func pairs(text string) (out []string) {
	for ; text != ""; text = text[2:] {
		out = append(out, text[:2])
	}
	return out
}
