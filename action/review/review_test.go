package review

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	r, err := Parse([]byte(`{"summary":"fine","comments":[{"path":"a.go","line":3,"body":"no"}]}`))
	if err != nil || r.Summary != "fine" || len(r.Remarks) != 1 || r.Remarks[0].Place() != "a.go:3" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{
		"", "[]", "done", `{"summary":"x"}`, `{"summary":"x","comments":[{"path":"a","line":0,"body":""}]}`,
		`{"summary":"x","comments":[],"event":"APPROVE"}`,
		`{"summary":"x","comments":[{"path":"a","line":1.5,"body":""}]}`, `{"summary":"` + strings.Repeat("x", 8001) + `","comments":[]}`,
	} {
		if r, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%.100s is taken: %+v", bad, r)
		}
	}
}

func TestPlace(t *testing.T) {
	files := []File{{"a.go", "@@ -1,2 +3,4 @@ func a()\n a\n+@@ -1 +900,9 @@\n b\n@@ -40 +50 @@\n-x\n+y"}, {Path: "large.bin"}}
	r := Review{Remarks: []Remark{{"a.go", 2, ""}, {"a.go", 3, ""}, {"a.go", 6, ""}, {"a.go", 7, ""}, {"a.go", 50, ""}, {"a.go", 51, ""},
		{"a.go", 901, ""}, {"large.bin", 1, ""}, {"b.go", 1, ""}}}
	at := func(remarks []Remark) string {
		var places []string
		for _, remark := range remarks {
			places = append(places, remark.Place())
		}
		return strings.Join(places, " ")
	}
	shown, others := r.Place(files, 10)
	if got := at(shown); got != "a.go:3 a.go:6 a.go:50" {
		t.Errorf("shown: %s", got)
	}
	if got := at(others); got != "a.go:2 a.go:7 a.go:51 a.go:901 large.bin:1 b.go:1" {
		t.Errorf("others: %s", got)
	}
	if shown, others := r.Place(files, 1); len(shown) != 1 || len(others) != 8 {
		t.Errorf("%d shown, %d others", len(shown), len(others))
	}
	if shown, _ := r.Place([]File{{"a.go", "@@ -1 +9223372036854775807,9 @@\n@@ +1 @@\n@@ -1 +x @@\n@@ -1 +1,-5 @@"}}, 10); len(shown) != 0 {
		t.Errorf("%+v", shown)
	}
}
