package operationtest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
)

// Disguises is what bodies would do that servers unpack, decode or read by rules of their own, and
// what the verbs of registries would do that few clients have.
func Disguises() Class {
	const comment = `mutation { addComment(input: {subjectId: \"PR_evil\", body: \"x\"}) { clientMutationId } }`
	const bad, good = `{"query":"` + comment + `"}`, `{"query":"{ viewer { login } }"}`
	const graphql, pulls = "POST api.github.com/graphql", "POST api.github.com/repos/acme/app/pulls"
	const stolen = `{"title":"x","base":"main","head":"evil:x"}`
	const json = "application/json"
	c := Class{Name: "disguises",
		Entries: []string{githubEntry, "npm:read", "pypi:read", "go:read", "crates:read", "oci:read", "oci:ghcr.io read"}}
	c.Cases = lines(
		// verbs and paths of registries
		"PUT packages.npmjs.org/-/package/left-pad/access", "POST packages.npmjs.org/-/package/left-pad/collaborators",
		"GET packages.npmjs.org/-/npm/v1/user",
		"GET packages.npmjs.org/-/team/scope/developers/user", "GET packages.npmjs.org/-/v1/done?sessionId=1",
		"DELETE packages.npmjs.org/left-pad/-rev/1-a",
		"PUT packages.npmjs.org/left-pad/latest", "POST packages.npmjs.org/-/npm/v1/tokens/token/x",
		"POST pypi.org/?:action=file_upload", "POST pypi.org/simple/left-pad/", "PUT pypi.org/legacy/?:action=submit",
		"POST pypi.org/pypi/ <methodCall/>",
		"PUT crates.io/api/v1/crates/leaf/1.0.0/unyank", "DELETE crates.io/api/v1/crates/leaf", "PUT crates.io/api/v1/crates/leaf/follow",
		"DELETE crates.io/api/v1/crates/leaf/owners", "GET crates.io/api/v1/me/updates",
		"POST crates.io/api/v1/trusted_publishing/github_configs",
		"GET modules.golang.org/example.com/m/@v/../../../x", "GET modules.golang.org/example.com/m/@v/v1.0.0.info%2f..%2f..",
		"DELETE modules.golang.org/example.com/m/@v/list",
		"POST registry-1.docker.io/v2/a/b/blobs/uploads/?digest=sha256:a",
		"PUT registry-1.docker.io/v2/a/b/manifests/sha256:a", "DELETE registry-1.docker.io/v2/a/b/blobs/sha256:a",
		"GET registry-1.docker.io/v2/a/b/blobs/uploads/", "POST ghcr.io/v2/a/b/manifests/latest",
		"PUT ghcr.io/v2/a/b/tags/list", "GET ghcr.io/v2/_catalog%3fn=1",
		// GraphQL by other methods
		"PUT api.github.com/graphql "+bad, "PATCH api.github.com/graphql "+bad, "QUERY api.github.com/graphql "+bad,
		"DELETE api.github.com/graphql "+bad,
	)
	add := func(name, target, body string, header ...string) {
		one := lines(target)[0]
		one.Name, one.Body, one.Header = name, body, http.Header{"Content-Type": {json}}
		for i := 0; i < len(header); i += 2 {
			one.Header.Set(header[i], header[i+1])
		}
		c.Cases = append(c.Cases, one)
	}
	for target, body := range map[string]string{graphql: bad, pulls: stolen} {
		kind := target[strings.LastIndex(target, "/")+1:] + ": "
		add(kind+"gzip", target, zipped(body), "Content-Encoding", "gzip")
		add(kind+"x-gzip", target, zipped(body), "Content-Encoding", "x-gzip")
		add(kind+"gzip twice", target, zipped(zipped(body)), "Content-Encoding", "gzip, gzip")
		add(kind+"gzip of gzip, said once", target, zipped(zipped(body)), "Content-Encoding", "gzip")
		add(kind+"gzip that is not said", target, zipped(body))
		add(kind+"deflate", target, deflated(body), "Content-Encoding", "deflate")
		add(kind+"br", target, body, "Content-Encoding", "br")
		add(kind+"zstd", target, body, "Content-Encoding", "zstd")
		add(kind+"aws-chunked", target, body, "Content-Encoding", "aws-chunked")
		add(kind+"identity", target, body, "Content-Encoding", "identity")
		add(kind+"a good one behind the coding of the bad", target, good, "Content-Encoding", "br")
		add(kind+"a mark of the order of bytes", target, "\ufeff"+body)
		add(kind+"UTF-16", target, in16(body, false))
		add(kind+"UTF-16, said", target, in16(body, true), "Content-Type", json+"; charset=utf-16")
		add(kind+"UTF-7, said", target, strings.ReplaceAll(body, "evil", "+AGUAdgBpAGw-"), "Content-Type", json+"; charset=utf-7")
		add(kind+"a transfer coding for mail", target, strings.ReplaceAll(body, "evil", "=65vil"),
			"Content-Transfer-Encoding", "quoted-printable")
		add(kind+"a comment of JSON5", target, `/* `+good+` */ `+body)
		add(kind+"behind a guard against scripts", target, `)]}',`+"\n"+body)
		add(kind+"lines of JSON", target, good+"\n"+body, "Content-Type", "application/x-ndjson")
	}
	const query = `"query":"{ viewer { login } }"`
	add("a member by an escape", graphql, `{`+query+`,"\u0071uery":"`+comment+`"}`)
	add("a member in folded letters", graphql,
		`{"query":"query($id: ID!) { node(id: $id) { id } }","variables":{},"variable\u017f":{"id":"PR_evil"}}`)
	add("a member with a zero", graphql, `{`+query+`,"query\u0000":"`+comment+`"}`)
	add("GraphQL as text", graphql, strings.ReplaceAll(comment, `\"`, `"`), "Content-Type", "application/graphql")
	add("GraphQL in parts", graphql,
		"--b\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n"+bad+
			"\r\n--b\r\nContent-Disposition: form-data; name=\"map\"\r\n\r\n{}\r\n--b--\r\n",
		"Content-Type", "multipart/form-data; boundary=b")
	asked := strings.NewReplacer(`\"`, "%22", " ", "+").Replace(comment)
	add("GraphQL in the query", graphql+"?query="+asked, good)
	add("a persisted one", graphql, `{`+query+`,"extensions":{"persistedQuery":{"version":1,"sha256Hash":"a"}}}`)
	add("a persisted one alone", graphql, `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"a"}}}`)
	add("a document's id", graphql, `{`+query+`,"doc_id":"1","documentId":"1"}`)
	add("half a sign in an owner", graphql, `{"query":"{ repository(owner: \"acme\ud800\", name: \"app\") { id } }"}`)
	add("a zero in an owner", graphql, `{"query":"{ repository(owner: \"acme\\u0000\", name: \"app\") { id } }"}`)
	add("a head by an escape", pulls, `{"title":"x","base":"main","head":"evil\u003ax"}`)
	add("a head's member by an escape", pulls, `{"title":"x","base":"main","head":"x","head\u005frepo":"evil/app"}`)
	add("two heads by an escape", pulls, `{"head":"x","h\u0065ad":"evil:x","title":"x","base":"main"}`)
	return c
}

func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

func deflated(text string) string {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

// in16 is a text in UTF-16, with the mark of its order in front or without.
func in16(text string, mark bool) string {
	var out strings.Builder
	if mark {
		out.WriteString("\xff\xfe")
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	return out.String()
}
