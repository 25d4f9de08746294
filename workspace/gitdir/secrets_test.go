package gitdir

import (
	"bytes"
	"slices"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
)

// Attack: a secret of the run leaves with a branch: in a file, in one that a later commit
// removes, in a message and in a name.
func TestAttackASecretInCommits(t *testing.T) {
	const value = "c4nary-Value-7f3a9c"
	v := newVolume(t)
	v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: value}})
	content := "one\nkey = '" + value + "'\n"
	blob := v.object("blob", content)
	v.commit("100644", "gone.txt", blob)
	message := v.agent("commit-tree", "-p", "HEAD", "-m", "key: "+value, v.agent("rev-parse", "HEAD^{tree}"))
	v.agent("update-ref", "HEAD", message)
	name := v.object("blob", "harmless")
	v.commit("100644", value+".txt", name)
	last := v.object("blob", "x '"+value[:10]+"' + '"+value[10:]+"'")
	v.commit("100644", "kept.txt", last)
	commits, notes, _, err := v.take()
	if err != nil || len(notes) > 0 || len(commits) != 1 {
		t.Fatal(commits, notes, err)
	}
	c := &commits[0]
	got := map[string]SecretIn{}
	for _, s := range c.Secrets {
		got[s.Object] = s
	}
	if len(c.Secrets) != 4 || got[blob].Path != "gone.txt" || got[message].Path != "" || got[message].Size == 0 || !got[name].InName || got[last].Path != "kept.txt" ||
		c.Unsearched || !slices.Equal(c.SecretNames(), []string{"KEY"}) {
		t.Errorf("%+v", c)
	}
	text := []byte(content)
	if in := c.Hide(blob, text); len(in) != 1 || LineOf(text, in[0].At) != 2 || !bytes.Equal(text, []byte("one\nkey = '*******************'\n")) {
		t.Errorf("%v %q", in, text)
	}
	if in := c.Hide(blob, []byte("short")); in != nil {
		t.Errorf("another content: %v", in)
	}
	v = newVolume(t)
	v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: value}})
	v.commit("100644", "large", v.object("blob", string(bytes.Repeat([]byte("x"), maxBlob+1))))
	if commits, _, _, err := v.take(); err != nil || len(commits) != 1 || !commits[0].Unsearched {
		t.Errorf("a file that is too large to be searched: %+v %v", commits, err)
	}
}
