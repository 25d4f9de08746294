package github

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Bounds of Texts.
const (
	maxTexts = 200
	maxText  = 1 << 20 // bytes of one
)

// objectName is a commit's, a tree's or a blob's.
var objectName = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

type treeEntry struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Type string `json:"type"`
	SHA  string `json:"sha"`
	Size int64  `json:"size"`
}

// Texts returns the files of a commit that are, or are below, one of names in a folder of the
// repository ("" = its root), by their paths in that folder. Links and submodules are left
// out, and so is what is larger than 1 MiB. It errs on more than 200 files.
func (c Client) Texts(ctx context.Context, commit, folder string, names ...string) (map[string][]byte, error) {
	at, err := c.tree(ctx, commit, "")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.FieldsFunc(folder, func(r rune) bool { return r == '/' }) {
		i := slices.IndexFunc(at, func(e treeEntry) bool { return e.Path == name && e.Type == "tree" })
		if i < 0 {
			return nil, nil
		}
		if at, err = c.tree(ctx, at[i].SHA, ""); err != nil {
			return nil, err
		}
	}
	found := map[string]treeEntry{}
	for _, e := range at {
		if !slices.Contains(names, e.Path) {
			continue
		}
		if e.Type != "tree" {
			found[e.Path] = e
			continue
		}
		below, err := c.tree(ctx, e.SHA, "?recursive=1")
		if err != nil {
			return nil, err
		}
		for _, b := range below {
			if fs.ValidPath(b.Path) {
				found[path.Join(e.Path, b.Path)] = b
			}
		}
	}
	texts := map[string][]byte{}
	for name, e := range found {
		if e.Type != "blob" || e.Mode != "100644" && e.Mode != "100755" || e.Size > maxText {
			continue
		}
		if len(texts) == maxTexts {
			return nil, fmt.Errorf("more than %d files", maxTexts)
		}
		if texts[name], err = c.blob(ctx, e.SHA); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func (c Client) tree(ctx context.Context, sha, query string) ([]treeEntry, error) {
	var answer struct {
		Tree      []treeEntry `json:"tree"`
		Truncated bool        `json:"truncated"`
	}
	if !objectName.MatchString(sha) {
		return nil, fmt.Errorf("%.80q is no name of a commit", sha)
	}
	err := c.call(ctx, http.MethodGet, "/git/trees/"+sha+query, nil, &answer)
	if err == nil && answer.Truncated {
		err = errors.New("GitHub's list of files is not whole")
	}
	return answer.Tree, err
}

func (c Client) blob(ctx context.Context, sha string) ([]byte, error) {
	var answer struct {
		Content  string `json:"content"`
		Encoding string `json:"encoding"`
	}
	if !objectName.MatchString(sha) {
		return nil, fmt.Errorf("%.80q is no name of a file's content", sha)
	}
	if err := c.call(ctx, http.MethodGet, "/git/blobs/"+sha, nil, &answer); err != nil {
		return nil, err
	}
	if answer.Encoding != "base64" {
		return nil, fmt.Errorf("GitHub's answer is in %.40q", answer.Encoding)
	}
	return base64.StdEncoding.DecodeString(strings.ReplaceAll(answer.Content, "\n", ""))
}
