// Package changes says what happened to a project's files during a run. It
// looks at the files themselves: git's index, its ignore rules, its attributes
// and its configuration can all be written by an agent, and none of them decides
// here what is seen.
//
//	Take    folder ──walk──► tree of what each file is: type, mode, size, mtime, ctime, inode
//	           └──► where the old content is: a blob of the host's repository, or a copy in the run's folder
//	           └──► Save: a record for Reopen, where this program is killed meanwhile
//	   … the agent works …
//	Compare folder ──walk──► tree ──compare──► candidates ──read──► Set: a list of Change, as data
//	Set ──► WritePatch (unified diff), WriteList (some lines for people), Save (changes.diff, changes.json)
//
// The kernel sets a file's ctime, and no program without the right to set the
// clock can turn it back. A file whose inode, size, mode, mtime and ctime are as
// they were has not been written to. tmpfs is the exception: a write through a
// shared mapping sets no time there, so content on it is summed before and after.
//
// Git is asked twice, for the list of its index and for blobs, with a clean
// environment and without anything that runs programs. Its answer is
// checked: a blob by its hash, an entry of the index by the file's own times.
//
// Everything is bounded, and whatever is left out is said in Set.Unseen or in a
// Change's Note.
package changes
