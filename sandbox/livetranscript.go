package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/org/claude-sandbox/agent/conversation"
)

// liveTranscript is that of a run on a terminal: the messages of its conversations, without
// secrets, in the order in which they were seen. The file only grows, so that it can be
// followed; messages that the agent changed afterwards are there in both forms.
type liveTranscript struct {
	create  func() (*transcript, error)
	to      *transcript // nil until there is a message
	written map[string]writtenMessages
}

// writtenMessages says which messages of one conversation are in the file.
type writtenMessages struct {
	size int
	sum  [sha256.Size]byte
}

func newLiveTranscript(create func() (*transcript, error)) *liveTranscript {
	return &liveTranscript{create: create, written: map[string]writtenMessages{}}
}

// add appends what is new of conversations, of which the newest is first.
func (t *liveTranscript) add(all []heldConversation) error {
	for _, c := range slices.Backward(all) {
		before := t.written[c.id].size
		if before > len(c.messages) || before > 0 && sha256.Sum256(c.messages[:before]) != t.written[c.id].sum {
			before = 0
		}
		if before == len(c.messages) {
			continue
		}
		if t.to == nil {
			var err error
			if t.to, err = t.create(); err != nil {
				return err
			}
		}
		if _, err := t.to.Write(c.messages[before:]); err != nil {
			return err
		}
		t.written[c.id] = writtenMessages{len(c.messages), sha256.Sum256(c.messages)}
	}
	return nil
}

// end adds what is new, closes the file and returns its name, "" when there is none.
func (t *liveTranscript) end(all []heldConversation) (string, error) {
	err := t.add(all)
	if t.to == nil {
		return "", err
	}
	return t.to.file.Name(), errors.Join(err, t.to.file.Close())
}

// The pause between two looks at the conversations: at least the first, and so long that
// looking takes a small part of the time, however large the agent makes them. Claude writes
// a message some time after it is on the screen, at most the last of these.
const (
	conversationPause = 2 * time.Second
	conversationShare = 20
	conversationLag   = 5 * time.Second
)

// follow keeps the transcript of a run on a terminal, which began with a conversation, while
// its agent works, until ctx is done. An agent that does nothing costs nothing.
func (c conversations) follow(ctx context.Context, begun string, started time.Time, does *activity) {
	looked := started
	for pause := conversationPause; conversation.IsID(begun); {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if !does.since(looked.Add(-conversationLag)) {
			continue
		}
		looked = time.Now()
		all, err := c.take(ctx, begun)
		if err == nil && c.live.add(all) != nil {
			return // the end tries again, and says why
		}
		pause = max(conversationPause, conversationShare*time.Since(looked))
	}
}
