package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// The transcript of a run on a terminal only grows: with what is new of each conversation,
// and with all of one whose past the agent has changed. It is bounded.
func TestATranscriptGrowsWithItsConversations(t *testing.T) {
	name := filepath.Join(t.TempDir(), TranscriptFile)
	live := newLiveTranscript(func() (*transcript, error) {
		f, err := os.Create(name)
		return &transcript{file: f, left: 40}, err
	})
	held := func(id, messages string) heldConversation {
		return heldConversation{id: id, messages: []byte(messages)}
	}
	for _, step := range []struct {
		all  []heldConversation // the newest first
		want string
	}{
		{nil, ""},
		{[]heldConversation{held("a", "a1\n")}, "a1\n"},
		{[]heldConversation{held("a", "a1\n")}, "a1\n"},
		{[]heldConversation{held("b", "b1\n"), held("a", "a1\na2\n")}, "a1\na2\nb1\n"},
		{[]heldConversation{held("b", "b1\nb2\n")}, "a1\na2\nb1\nb2\n"},
		{[]heldConversation{held("b", "b1\nb3\n")}, "a1\na2\nb1\nb2\nb1\nb3\n"},
		{[]heldConversation{held("b", "")}, "a1\na2\nb1\nb2\nb1\nb3\n"},
		{[]heldConversation{held("c", "0123456789012345678901234567890\n")}, "a1\na2\nb1\nb2\nb1\nb3\n0123456789012345678901"},
	} {
		if err := live.add(step.all); err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(name); string(text) != step.want {
			t.Errorf("%v: the file holds %q in place of %q", step.all, text, step.want)
		}
	}
	if got, err := live.end(nil); got != name || err != nil {
		t.Error(got, err)
	}
}
