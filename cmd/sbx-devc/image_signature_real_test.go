package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/registrytest"
)

// signTools puts the real cosign and gh into PATH. They take minutes to
// compile, so who wants these tests runs make test-sign.
func signTools(t *testing.T) (dir string) {
	t.Helper()
	dir = os.Getenv("SBX_SIGN_TOOLS")
	if dir == "" {
		t.Skip("run by make test-sign, with the real cosign and gh")
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", "")
	for _, name := range []string{"cosign", "gh", "sign"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSignaturesOfCosign signs with the real cosign on the way to a registry
// that wants a login, and then plays those who would like to pass for it.
func TestSignaturesOfCosign(t *testing.T) {
	signTools(t)
	dir := imageProject(t)
	f := registrytest.StartFaulty(t)
	f.Set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		user, password, _ := r.BasicAuth()
		if r.Method != "GET" && r.Method != "HEAD" && (user != "me" || password != "hunter2") {
			w.Header().Set("WWW-Authenticate", "Basic realm=test")
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		if r.URL.Path == "/v2/" { // who asks for nothing is asked to log in
			return registrytest.Answer(http.StatusUnauthorized, map[string]string{"WWW-Authenticate": "Basic realm=test"}, "")(w, r, next)
		}
		return false
	})
	t.Setenv("COSIGN_PASSWORD", "of the key")
	keys := t.TempDir()
	for _, name := range []string{"ours", "theirs"} {
		if out, err := exec.Command("cosign", "generate-key-pair", "--output-key-prefix",
			filepath.Join(keys, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	// Without a transparency log, which this machine may not reach.
	withoutLog := []string{"--sign-flag=--tlog-upload=false", "--sign-flag=--use-signing-config=false"}
	repo := f.Addr + "/me/sandbox"
	push := func(key string, refs ...string) string { // refs may end with flags
		t.Helper()
		args := append([]string{"image", "push", "--dir", dir, "--username", "me", "--password-stdin"}, refs...)
		if key != "" {
			args = append(append(args, "--sign", "cosign", "--key", filepath.Join(keys, key+".key")), withoutLog...)
		}
		out, errs, code := imageRun(t, map[string]string{"stdin": "hunter2", "SOURCE_DATE_EPOCH": "1700000000"}, args...)
		if code != 0 {
			t.Fatalf("push %v: exit %d: %s", refs, code, errs)
		}
		_, digest, _ := strings.Cut(out, "@")
		return strings.Split(digest, "\n")[0]
	}
	verify := func(ref string, more ...string) (string, int) {
		out, errs, code := imageRun(t, map[string]string{"stdin": "hunter2"},
			append([]string{"image", "verify", ref, "--lock", filepath.Join(dir, "sbx-image.lock.json"),
				"--username", "me", "--password-stdin",
				"--signature", "cosign", "--key", filepath.Join(keys, "ours.pub"), "--signature-flag=--insecure-ignore-tlog=true"}, more...)...)
		return out + errs, code
	}
	signed := push("ours", repo+":v1.0.0", repo+":latest")
	for _, ref := range []string{repo + ":v1.0.0", repo + "@" + signed} {
		if out, code := verify(ref); code != 0 || !strings.Contains(out, "ok     signature: accepted") ||
			!strings.Contains(out, "ok     SBOM: ") {
			t.Errorf("our own: exit %d: %s", code, out)
		}
	}
	// Cosign alone agrees, and it was right before.
	if out, err := exec.Command("cosign", "verify", "--key", filepath.Join(keys, "ours.pub"), "--insecure-ignore-tlog=true",
		strings.Replace(repo, f.Addr, f.Real, 1)+"@"+signed).CombinedOutput(); err != nil {
		t.Errorf("cosign itself: %v: %s", err, out)
	}

	refused := func(what, ref string) {
		t.Helper()
		out, code := verify(ref)
		if code != 1 || !strings.Contains(out, "WRONG  signature: cosign: ") || strings.Count(out, "WRONG") != 1 {
			t.Errorf("%s: exit %d, want the signature refused and nothing else: %s", what, code, out)
		}
	}
	imagePolicyOf(t, dir, `{"network": {"mode": "none", "deny": ["two.example"]}}`)
	push("", repo+":unsigned", repo+":latest")
	refused("unsigned", repo+":unsigned")
	refused("swapped behind the tag", repo+":latest")
	imagePolicyOf(t, dir, `{"network": {"mode": "none", "deny": ["three.example"]}}`)
	push("theirs", repo+":theirs")
	refused("signed with another key", repo+":theirs")

	// Whoever may write to the registry hangs our signature on another image: one
	// in the form of cosign 3, and one in the form of those before.
	const before = "--new-bundle-format=false"
	imagePolicyOf(t, dir, `{"network": {"mode": "none", "deny": ["four.example"]}}`)
	signedBefore := push("ours", repo+":before", "--sign-flag="+before)
	if out, code := verify(repo+":before", "--signature-flag="+before); code != 0 {
		t.Errorf("our own, in the old form: exit %d: %s", code, out)
	}
	imagePolicyOf(t, dir, `{"network": {"mode": "none", "deny": ["five.example"]}}`)
	target := push("", repo+":borrowed")
	tag := func(digest string) string { return "/me/sandbox/manifests/" + strings.Replace(digest, ":", "-", 1) }
	manifest(t, f.Real, "PUT", tag(target), indexType, manifest(t, f.Real, "GET", tag(signed), indexType, ""))
	manifest(t, f.Real, "PUT", tag(target)+".sig", imageType, manifest(t, f.Real, "GET", tag(signedBefore)+".sig", imageType, ""))
	for name, value := range map[string]string{"COSIGN_CHECK_CLAIMS": "false", "COSIGN_KEY": filepath.Join(keys, "theirs.pub")} {
		t.Setenv(name, value) // a variable must not soften what the flags say
		for _, form := range []string{before, "--new-bundle-format=true"} {
			if out, code := verify(repo+":borrowed", "--signature-flag="+form); code != 1 || !strings.Contains(out, "WRONG  signature: cosign: ") {
				t.Errorf("the signature of another digest, %s, %s: exit %d: %s", name, form, code, out)
			}
		}
		refused("signed with another key, in spite of "+name, repo+":theirs")
	}
}

const (
	indexType = "application/vnd.oci.image.index.v1+json"
	imageType = "application/vnd.oci.image.manifest.v1+json"
)

// manifest asks a registry itself.
func manifest(t *testing.T, addr, method, path, mediaType, body string) string {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+addr+"/v2"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", mediaType)
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > 299 {
		t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, text, err)
	}
	return string(text)
}

// TestSignaturesOfGitHub lets the real gh check attestations that are made as
// GitHub makes them, under an authority that the test names to gh.
func TestSignaturesOfGitHub(t *testing.T) {
	tools := signTools(t)
	addr := registrytest.Start(t)
	attested := imageOK(t, "image", "push", "--init-only", addr+"/me/x:v1")
	other := imageOK(t, "image", "push", "--init-only", "--title", "another", addr+"/me/x:v2")
	attest := func(pushed, repository string) string {
		t.Helper()
		dir := t.TempDir()
		_, digest, _ := strings.Cut(pushed, "@")
		if out, err := exec.Command(filepath.Join(tools, "sign"), digest, repository, dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return dir
	}
	ours, theirs := attest(attested, "me/x"), attest(attested, "me/y")
	for _, c := range []struct {
		name, tag, bundle, root string
		want                    string // "" = accepted
	}{
		{"ours", "v1", ours, ours, ""},
		{"the attestation of another digest", "v2", ours, ours, "verifying with issuer"},
		{"the attestation of another repository", "v1", theirs, theirs, "verifying with issuer"},
		{"the attestation of another authority", "v1", ours, theirs, "verifying with issuer"},
		{"an authority that is none", "v1", ours, tools, "trusted_root.jsonl"},
	} {
		out, errs, code := imageRun(t, nil, "image", "verify", addr+"/me/x:"+c.tag, "--any-image", "--no-sbom", "--signature",
			"github", "--identity", "me/x",
			"--signature-flag=--bundle="+filepath.Join(c.bundle, "bundle.json"),
			"--signature-flag=--custom-trusted-root="+filepath.Join(c.root, "trusted_root.jsonl"))
		switch {
		case c.want == "" && (code != 0 || !strings.Contains(out, "ok     signature: accepted")):
			t.Errorf("%s: exit %d: %s%s", c.name, code, out, errs)
		case c.want != "" && (code != 1 || !strings.Contains(out, "WRONG  signature: gh: ") || !strings.Contains(out, c.want)):
			t.Errorf("%s: exit %d: %s%s", c.name, code, out, errs)
		}
	}
	// Where GitHub is asked and cannot be, or a flag is none, the answer is no.
	for _, flags := range [][]string{nil, {"--signature-flag=--no-such-flag"}} {
		if out, _, code := imageRun(t, nil,
			append([]string{"image", "verify", other, "--any-image", "--no-sbom", "--signature", "github", "--identity", "me/x"},
				flags...)...); code == 0 {
			t.Errorf("%v: accepted: %s", flags, out)
		}
	}
}
