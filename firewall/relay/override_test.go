package relay_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Attack: a POST whose body makes the server take it for another method. Judged by what a
// server that reads whole bodies would act on.
func TestAttackOperationMethodInTheBody(t *testing.T) {
	const form, json = "application/x-www-form-urlencoded", "application/json"
	part := func(head string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + strings.Repeat("x", 1<<20) + "\r\n--b\r\n" + head +
			"\r\n\r\nDELETE\r\n--b--\r\n"
	}
	in16 := func(text string) (out string) {
		for i := range len(text) {
			out += text[i:i+1] + "\x00"
		}
		return out
	}
	filler := "a=" + strings.Repeat("x", 2<<20)
	zipped := func(texts ...string) (out string) {
		for _, text := range texts {
			var one bytes.Buffer
			w := gzip.NewWriter(&one)
			_, _ = io.WriteString(w, text)
			_ = w.Close()
			out += one.String()
		}
		return out
	}
	refused := map[string]struct{ kind, body string }{
		"a form":                    {form, "_method=DELETE"},
		"behind much else":          {form, filler + "&_method=DELETE&b=c"},
		"encoded":                   {form, "a=b&%5f%6Dethod=DELETE"},
		"behind a semicolon":        {form, "a=b;_method=DELETE"},
		"in capitals":               {form, "_METHOD=DELETE"},
		"as PHP reads it":           {form, ".method=DELETE"},
		"as PHP reads it, a space":  {form, "+.method=DELETE"},
		"as PHP reads it, a zero":   {form, "_method%00x=DELETE"},
		"as PHP reads it, blanks":   {form, strings.Repeat("+", 400) + "%20 _method=DELETE"},
		"as Express reads it":       {form, "a=b&[_method]=DELETE"},
		"as Express, encoded":       {form, "%5B_method%5D=DELETE"},
		"as Rack reads it":          {form, "]" + strings.Repeat("[", 400) + "_method]=DELETE"},
		"a part, as Rack reads it":  {"multipart/form-data; boundary=b", part(`Content-Disposition: form-data; name="[_method]"`)},
		"no escape behind it":       {form, "_method%00%=DELETE"},
		"as ASP.NET reads it":       {form, "%u005fm%u0065thod=DELETE"},
		"as Salesforce names it":    {form, "_HttpMethod=DELETE"},
		"as ASP.NET names it":       {form, "a=b&X-HTTP-Method-Override=DELETE"},
		"JSON, in UTF-16":           {json, in16(`{"_method":"DELETE"}`)},
		"no type":                   {"", "_method=DELETE"},
		"a type with a parameter":   {form + "; charset=utf-8", "_method=DELETE"},
		"a type in capitals":        {strings.ToUpper(form), "_method=DELETE"},
		"a part":                    {"multipart/form-data; boundary=b", part(`Content-Disposition: form-data; name="_method"`)},
		"a part, no quotes":         {"multipart/form-data; boundary=b", part(`content-disposition:form-data;name=_method`)},
		"a part, escaped":           {"multipart/form-data; boundary=b", part(`Content-Disposition: form-data; name="\_me\thod"`)},
		"a part, folded":            {"multipart/form-data; boundary=b", part("Content-Disposition: form-data;\r\n name=\r\n\t\"_method\"")},
		"a part, in another coding": {"multipart/form-data; boundary=b", part("Content-Disposition: form-data; name*=utf-8''%5fmethod")},
		"a part, in pieces":         {"multipart/form-data; boundary=b", part(`Content-Disposition: form-data; name*0="_met"; name*1="hod"`)},
		"another kind of parts":     {"multipart/mixed; boundary=b", part(`Content-Disposition: form-data; name="_method"`)},
		"JSON":                      {json, `{"a": [1, "_method"], "_method": "DELETE"}`},
		"JSON, escaped":             {json, `{"\u005fm\u0065thod" : "DELETE"}`},
		"another kind of JSON":      {"application/vnd.api+json", `{"_method":"DELETE"}`},
		"compressed":                {json, zipped(`{"_method":"DELETE"}`)},
		"compressed, no type":       {"", zipped("_method=DELETE")},
	}
	passed := map[string]struct{ kind, body string }{
		"a form": {form, "method=DELETE&a_method=b&c=_method&d=_method=x"},
		"parts":  {"multipart/form-data; boundary=b", part(`Content-Disposition: form-data; name="file"; filename="_method"`)},
		"a page in a part": {"multipart/form-data; boundary=b",
			part("Content-Disposition: form-data; name=\"file\"\r\n\r\n<input name=\"_method\">")},
		"JSON":              {json, `{"a": "_method", "b": ["_method"], "c": "\\\"_method\\\":"}`},
		"any other text":    {"text/plain", "_method=DELETE"},
		"a text of no type": {"", strings.Repeat("lines of text\n", 1000)},
		"compressed":        {json, zipped(`{"a": "_method"}`)},
		"a charset":         {form + `; charset="ISO-8859-1"`, "a=b"},
	}
	unread := map[string]struct{ kind, body string }{
		"compressed in two":   {json, zipped(`{"a": "b"}`, `{"_method": "DELETE"}`)},
		"compressed, cut":     {json, zipped(`{"_method":"DELETE"}`)[:25]},
		"compressed, a bomb":  {form, zipped("a=" + strings.Repeat("x", 64<<20) + "&_method=DELETE")},
		"compressed in words": {json, `{"_method":"DELETE"}`},
		"in UTF-16":           {json + "; charset=utf-16le", in16(`{"_method":"DELETE"}`)},
		"in UTF-7":            {json + `;charset="UTF-7"`, `{"+AF8-method":"DELETE"}`},
		"a form in UTF-16":    {form + ";charset=utf-16be", "%00_%00m%00e%00t%00h%00o%00d=%00D"},
		"in EBCDIC":           {form + "; a=b; charset=ibm037", "%6d%94%85%a3%88%96%84=%c4"},
		"a charset, twice":    {form + "; charset=utf-8; charset=ibm037", "%6d%94%85%a3%88%96%84=%c4"},
		"a charset, encoded":  {form + "; charset*=us-ascii''ibm037", "%6d%94%85%a3%88%96%84=%c4"},
	}
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var acted []string // on whole bodies
			h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err == nil {
					mu.Lock()
					acted = append(acted, strings.TrimPrefix(r.URL.Path, "/v1/")+string(body))
					mu.Unlock()
				}
			})
			b := newBox(t, h)
			post := func(name, kind, body string) int {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://ok.test/v1/"+url.PathEscape(name),
					strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if kind != "" {
					req.Header.Set("Content-Type", kind)
				}
				if strings.HasPrefix(name, "compressed") {
					req.Header.Set("Content-Encoding", "gzip")
				}
				res, err := b.client(protocol).Do(req)
				if err != nil {
					return 0 // the relay may end the connection before it has read everything
				}
				defer res.Body.Close()
				_, _ = io.Copy(io.Discard, res.Body)
				return res.StatusCode
			}
			for name, c := range refused {
				if status := post(name, c.kind, c.body); status != http.StatusForbidden && status != 0 {
					t.Errorf("%s: %d", name, status)
				}
			}
			for name, c := range unread {
				if status := post(name, c.kind, c.body); status != http.StatusForbidden && status != 0 {
					t.Errorf("%s: %d", name, status)
				}
			}
			b.relay.Close()
			b.serving.Wait()
			if len(acted) > 0 {
				t.Errorf("acted on %.100q", acted)
			}
			if got := strings.Join(b.recorded(), "\n"); strings.Count(got, "the body names another method") != len(refused) {
				t.Errorf("recorded %s", got)
			}
			b = newBox(t, h)
			for name, c := range passed {
				if status := post(name, c.kind, c.body); status != http.StatusOK || len(acted) == 0 || acted[len(acted)-1] != name+c.body {
					t.Errorf("%s: %d", name, status)
				}
			}
		})
	}
}

// Attack: the form of a PUT names another method, as CakePHP reads it there, too.
func TestAttackOperationMethodInTheFormOfAPut(t *testing.T) {
	var mu sync.Mutex
	var acted []string
	h := newHost(t, []string{"http/1.1"}, func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			mu.Lock()
			acted = append(acted, r.Method+" "+string(body))
			mu.Unlock()
		}
	})
	b := newBox(t, h, "https://ok.test PUT,PATCH,DELETE /v1/**")
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for body, want := range map[string]int{"a=b&_method=DELETE": http.StatusForbidden, "a=b": http.StatusOK} {
			req, _ := http.NewRequest(method, "https://ok.test/v1/a", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			res, err := b.client("http/1.1").Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != want {
				t.Errorf("%s %s: %s", method, body, res.Status)
			}
		}
	}
	b.relay.Close()
	b.serving.Wait()
	if text := strings.Join(acted, "\n"); len(acted) != 3 || strings.Contains(text, "_method") {
		t.Errorf("acted on %s", text)
	}
}
