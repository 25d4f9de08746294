package operation

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/firewall/operation/pktline"
)

// A branch of the sandbox's own goes forward, however git packs what it has to send.
func TestGitPushesForward(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the same words of a long message, so that git packs one commit as the difference from another\n", 20)
	f := newForge(t, agentEntry)
	f.must(f.work, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/one", "HEAD:refs/heads/agent/two")
	other := f.commit2()
	f.must(filepath.Join(f.root, "acme/app.git"), "git", "update-ref", "refs/heads/main", other)
	for _, step := range []struct {
		name string
		do   func()
		with string // options of git
	}{
		{"one commit", func() { f.commit("one") }, ""},
		{"many commits", func() {
			for i := range 60 {
				f.commit(fmt.Sprint(i, "\n\n", long))
			}
		}, "-c pack.compression=9"},
		{"differences from objects with an id", func() {
			for i := range 40 {
				f.commit(fmt.Sprint(i, "\n\n", long))
			}
		}, "-c repack.useDeltaBaseOffset=false -c pack.window=50"},
		{"a merge of what the server has", func() {
			f.must(f.work, "git", "fetch", "-q", "origin")
			f.must(f.work, "git", "merge", "-q", "--no-edit", "origin/main")
		}, ""},
		{"files that are much larger than what is looked at", func() {
			text := make([]byte, 3*maxPackHead)
			_, _ = rand.Read(text)
			if err := os.WriteFile(filepath.Join(f.work, "large"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			f.must(f.work, "git", "add", "large")
			f.must(f.work, "git", "commit", "-q", "-m", "large")
		}, "-c http.postBuffer=65536"},
		{"in one pack that git made before", func() {
			for i := range 60 {
				f.commit(fmt.Sprint(i, "\n\n", long))
			}
			f.must(f.work, "git", "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=200")
		}, ""},
	} {
		step.do()
		push := append([]string{"git"}, strings.Fields(step.with)...)
		f.must(f.work, append(push, "push", "-q", "--atomic", "origin", "HEAD:refs/heads/agent/one", "HEAD:refs/heads/agent/two")...)
		head := f.must(f.work, "git", "rev-parse", "HEAD")
		for _, ref := range []string{"one", "two"} {
			if !strings.Contains(f.refs(), head+" acme/app.git/refs/heads/agent/"+ref) {
				t.Errorf("%s: agent/%s did not arrive:\n%s", step.name, ref, f.refs())
			}
		}
	}
	// A branch whose commits the server has by another one takes them by a merge.
	f.must(f.work, "git", "checkout", "-q", "-b", "stacked")
	f.commit("on top")
	f.must(f.work, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/stacked")
	if out, err := f.run(f.work, "git", "push", "origin", "HEAD:refs/heads/agent/one"); err == nil ||
		!strings.Contains(out, "add commits or merge") {
		t.Errorf("%v %s", err, out)
	}
	f.must(f.work, "git", "checkout", "-q", "-")
	f.must(f.work, "git", "merge", "-q", "--no-ff", "--no-edit", "stacked")
	f.must(f.work, "git", "push", "-q", "origin", "HEAD:refs/heads/agent/one")
}

func TestGitPushesForwardWithSHA256(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry, "git:git.example.com/acme/new push refs/heads/agent/*")
	f.must(f.root, "git", "init", "-q", "--bare", "--object-format=sha256", "-b", "main", "acme/new.git")
	work := filepath.Join(t.TempDir(), "work")
	f.must(f.root, "git", "init", "-q", "--object-format=sha256", work)
	push := []string{"git", "push", "-q", "http://git.example.com/acme/new", "HEAD:refs/heads/agent/one"}
	for range 2 {
		f.must(work, "git", "commit", "-q", "--allow-empty", "-m", "x")
		f.must(work, push...)
	}
	f.must(work, "git", "commit", "-q", "--amend", "--allow-empty", "-m", "y")
	if out, err := f.run(work, append(push, "--force")...); err == nil || !strings.Contains(out, "no force") {
		t.Errorf("%v %s", err, out)
	}
}

// Attack: commits that this sandbox pushed, and that a person may have read, go away by force.
func TestAttackOperationGitForce(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry)
	f.must(f.work, "git", "checkout", "-q", "-b", "agent/one")
	first := f.commit("one")
	last := f.commit("two")
	f.must(f.work, "git", "push", "-q", "origin", "agent/one", "HEAD:refs/heads/agent/two")
	before := f.refs()
	f.must(f.work, "git", "commit", "-q", "--amend", "--allow-empty", "-m", "parent "+last)
	for _, args := range []string{
		"--force origin agent/one", "--force-with-lease origin agent/one", "origin +agent/one",
		"--force origin " + first + ":refs/heads/agent/one",
		"--force origin main:refs/heads/agent/one",
		"--force --atomic origin agent/one agent/one:refs/heads/agent/two agent/one:refs/heads/agent/three",
		"--force origin HEAD:refs/heads/agent/three HEAD~1:refs/heads/agent/two",
	} {
		if out, err := f.run(f.work, append([]string{"git", "push"}, strings.Fields(args)...)...); err == nil ||
			!strings.Contains(out, "no force") {
			t.Errorf("%s: %v %s", args, err, out)
		}
	}
	// Packs made by hand. Each has the commit that the ref would get, and words that it does not say.
	tree := f.must(f.work, "git", "rev-parse", "HEAD^{tree}")
	sign := "author a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n"
	parent := "parent " + last + "\n"
	plain := "tree " + tree + "\n" + sign + "\nforced\n"
	onTop := "tree " + tree + "\n" + parent + sign + "\non top\n"
	for name, c := range map[string]struct {
		commit  string // whose id the command names
		objects [][]byte
	}{
		"a commit on top that the new one does not have": {plain, [][]byte{object(packCommit, plain), object(packCommit, onTop)}},
		"the parent in the message":                      {plain + "\n" + parent, [][]byte{object(packCommit, plain+"\n"+parent)}},
		"the parent behind the author": {"tree " + tree + "\n" + sign + parent + "\nx\n",
			[][]byte{object(packCommit, "tree "+tree+"\n"+sign+parent+"\nx\n")}},
		"the parent in a line that does not end": {strings.TrimSuffix("tree "+tree+"\n"+parent, "\n"),
			[][]byte{object(packCommit, strings.TrimSuffix("tree "+tree+"\n"+parent, "\n"))}},
		"the parent in front of the tree": {parent + plain, [][]byte{object(packCommit, parent+plain)}},
		"in other letters":                {strings.ToUpper(onTop), [][]byte{object(packCommit, strings.ToUpper(onTop))}},
		"the text of another kind":        {plain, [][]byte{object(4, onTop), object(packCommit, plain)}},
		"no object":                       {plain, nil},
		"behind more than is unpacked":    {onTop, [][]byte{object(3, strings.Repeat("x", maxUnpacked)), object(packCommit, onTop)}},
		"a size that is none": {onTop,
			[][]byte{append([]byte{0x9f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, object(packCommit, onTop)[2:]...)}},
	} {
		id := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(c.commit), c.commit)))
		body := string(pktline.Append(nil, last+" "+id+" refs/heads/agent/one\x00report-status")) + "0000" + string(packOf(c.objects...))
		f.send("POST", "git.example.com/acme/app.git/git-receive-pack", body, pushHeader)
		if after := f.refs(); after != before {
			t.Fatalf("%s: arrived:\n%s", name, after)
		}
	}
	// What shows that these packs would work.
	id := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(onTop), onTop)))
	body := string(pktline.Append(nil, last+" "+id+" refs/heads/agent/one\x00report-status")) + "0000" +
		string(packOf(object(packCommit, onTop)))
	f.send("POST", "git.example.com/acme/app.git/git-receive-pack", body, pushHeader)
	if !strings.Contains(f.refs(), id+" acme/app.git/refs/heads/agent/one") {
		t.Errorf("a commit on top did not arrive:\n%s", f.refs())
	}
}

// Attack: a server that takes shallow pushes (receive.shallowUpdate) cuts the parents off a commit
// that a push calls shallow, in this push or in an earlier one.
func TestAttackOperationGitForceByShallow(t *testing.T) {
	t.Parallel()
	f := newForge(t, agentEntry)
	app := filepath.Join(f.root, "acme/app.git")
	f.must(app, "git", "config", "receive.shallowUpdate", "true")
	f.must(f.work, "git", "checkout", "-q", "-b", "agent/one")
	f.commit("one")
	last := f.commit("two")
	f.must(f.work, "git", "push", "-q", "origin", "agent/one")
	tree := f.must(f.work, "git", "rev-parse", "HEAD^{tree}")
	commit := func(parents ...string) (text, id string) {
		text = "tree " + tree + "\n"
		for _, parent := range parents {
			text += "parent " + parent + "\n"
		}
		text += "author a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n"
		return text, fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(text), text)))
	}
	push := func(shallow, old, id, ref string, texts ...string) {
		var body []byte
		if shallow != "" {
			body = pktline.Append(body, "shallow "+shallow)
		}
		var objects [][]byte
		for _, text := range texts {
			objects = append(objects, object(packCommit, text))
		}
		body = pktline.AppendFlush(pktline.Append(body, old+" "+id+" "+ref+"\x00report-status"))
		f.send("POST", "git.example.com/acme/app.git/git-receive-pack", string(body)+string(packOf(objects...)), pushHeader)
	}
	const one, two = "refs/heads/agent/one", "refs/heads/agent/two"
	kept := func(name string) {
		if out, err := f.run(app, "git", "merge-base", "--is-ancestor", last, one); err != nil {
			t.Fatalf("%s: what was pushed is lost: %s", name, out)
		}
	}
	text, id := commit(last)
	push(id, last, id, one, text)
	kept("the new commit")
	odd, oddID := commit(last, strings.Repeat("1", 40))
	push(oddID, last, oddID, one, odd)
	kept("the new commit, with a parent that the server lacks")
	push(id, strings.Repeat("0", 40), id, two, text)
	if !strings.Contains(f.refs(), id+" acme/app.git/"+two) {
		t.Fatalf("a shallow commit did not arrive on a new branch:\n%s", f.refs())
	}
	next, nextID := commit(id)
	push("", last, nextID, one, text, next)
	kept("a commit that another push called shallow")
	// A clone that is shallow pushes onto its last commit.
	next, _ = commit(last)
	next = strings.Replace(next, "\nx\n", "\ny\n", 1)
	nextID = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(next), next)))
	push(last, last, nextID, one, next)
	kept("an honest push")
	if !strings.Contains(f.refs(), nextID+" acme/app.git/"+one) {
		t.Errorf("a push from a shallow clone did not arrive:\n%s", f.refs())
	}
}

// object is an object of a pack.
func object(kind byte, text string) []byte {
	size := len(text)
	out := []byte{kind<<4 | byte(size&15)}
	if size >>= 4; size > 0 {
		out[0] |= 0x80
		out = binary.AppendUvarint(out, uint64(size))
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return append(out, packed.Bytes()...)
}

func packOf(objects ...[]byte) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	pack = append(pack, bytes.Join(objects, nil)...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// FuzzPackHead reads any bytes as a pack: it takes no more memory than its bounds, and a commit
// that it knows is one by its hash.
func FuzzPackHead(f *testing.F) {
	commit := "tree " + zeros + "\nparent " + zeros + "\n\nx\n"
	diff := string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(commit))), 3)) + "\x90\x02\x01y"
	f.Add(packOf(object(packCommit, commit), object(3, "text")))
	f.Add(packOf(object(packCommit, commit), append([]byte{packOffsetDiff<<4 | 9, 60}, object(packCommit, diff)[1:]...)))
	f.Add(packOf(object(packCommit, commit), append([]byte{packNamedDiff<<4 | 9}, object(packCommit, diff)...)))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := packHead{parents: map[string][]string{}, byPlace: map[int64][]byte{}, byID: map[string][]byte{}, idSize: sha1.Size,
			from: bufio.NewReader(bytes.NewReader(text))}
		_ = p.read()
		if p.unpacked > maxUnpacked {
			t.Errorf("%d bytes were unpacked", p.unpacked)
		}
		for id := range p.parents {
			text := p.byID[id]
			if id != fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(text), text))) {
				t.Errorf("%s is %q", id, text)
			}
		}
	})
}
