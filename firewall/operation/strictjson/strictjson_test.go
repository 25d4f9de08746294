package strictjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestAttackTwoReadings(t *testing.T) {
	for _, text := range []string{
		`{"operation":"download","operation":"upload"}`, `{"operation":"download","Operation":"upload"}`,
		`{"operation":"download","\u006fperation":"upload"}`, `{"a":{"b":1,"b":2}}`, `[{"a":1,"a":1}]`, `{"a":1}{"a":2}`, `{"a":1} x`,
		"{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"\udc00":1}`, "\ufeff{}", `{"a":1,}`, `[1,]`, `{'a':1}`, `{"a":01}`,
		`{"a":NaN}`, `{a:1}`, ``, ` `,
		`{"a":1 /* c */}`, strings.Repeat("[", 100) + strings.Repeat("]", 100), `{"a"`, `{"a":}`, `[`, `{`, `]`, `}`,
	} {
		if value, err := Parse([]byte(text)); err == nil {
			t.Errorf("%.80q is read as %v", text, value)
		}
	}
}

func TestObject(t *testing.T) {
	got, err := Object([]byte(` {"a":[1,{"b":null}],"ä":"x","t":true} `))
	want := map[string]any{"a": []any{json.Number("1"), map[string]any{"b": nil}}, "ä": "x", "t": true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Error(got, err)
	}
	for _, text := range []string{`[]`, `"a"`, `null`, `1`} {
		if _, err := Object([]byte(text)); err == nil {
			t.Errorf("%s is an object", text)
		}
	}
}

// The standard library reads a text as this does.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,{"b":"\u0041"}]}`, `{"a":1,"A":2}`, `[[[]]]`, `"\ud83d\ude00"`, `{"a":"�"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text)
		if err != nil {
			return
		}
		var want any
		from := json.NewDecoder(bytes.NewReader(text))
		from.UseNumber()
		if err := from.Decode(&want); err != nil || !json.Valid(text) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %v, and elsewhere as %v, %v", text, got, want, err)
		}
	})
}
