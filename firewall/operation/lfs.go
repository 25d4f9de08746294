package operation

import (
	"encoding/json"
	"net/http"
)

const lfsType = "application/vnd.git-lfs+json"

// maxBatch bounds the body of a request to LFS's batch API, in bytes.
const maxBatch = 1 << 20

// lfsRoutes are the requests of git-lfs to the repository's own host (its API, and
// where Gitea and GitLab keep the objects). Elsewhere, as at GitHub, the objects are
// at a host of their own, which needs an entry of its own. Locks stand in the way
// of others: they are listed, and not made.
var lfsRoutes = []gitRoute{
	{http.MethodPost, []string{"info", "lfs", "objects", "batch"}, "", lfsType, gitLFS},
	{http.MethodGet, []string{"info", "lfs", "objects", "*"}, "", "", gitLFS},
	{http.MethodGet, []string{"info", "lfs", "objects", "*", "*"}, "", "", gitLFS},
	{http.MethodGet, []string{"gitlab-lfs", "objects", "*"}, "", "", gitLFS},
	{http.MethodGet, []string{"info", "lfs", "locks"}, "*", "", gitLFS},
	{http.MethodPost, []string{"info", "lfs", "locks", "verify"}, "", lfsType, gitLFSPush},
	{http.MethodPost, []string{"info", "lfs", "verify"}, "", lfsType, gitLFSPush},
	{http.MethodPost, []string{"info", "lfs", "objects", "verify"}, "", lfsType, gitLFSPush},
	{http.MethodPut, []string{"info", "lfs", "objects", "*"}, "", "", gitLFSPush},
	{http.MethodPut, []string{"info", "lfs", "objects", "*", "*"}, "", "", gitLFSPush},
	{http.MethodPut, []string{"gitlab-lfs", "objects", "*", "*"}, "", "", gitLFSPush},
}

// judgeLFS decides about a request of git-lfs. A batch says in its body whether it
// is for uploads.
func (g *git) judgeLFS(d *Decision, call gitCall, req *Request, body *Body) {
	does := call.does
	if does == gitLFS && req.Method == http.MethodPost {
		var err error
		if does, err = readBatch(req.Header, body); err != nil {
			d.Reason = err.Error()
			return
		}
	}
	d.Operation = "git " + string(does) + " " + call.repo.String()
	if does == gitLFSPush {
		g.allowActs(d, call.repo, []gitAct{gitLFSPush}, "lfs", "push")
	} else {
		g.allowActs(d, call.repo, []gitAct{gitLFS, gitLFSPush}, "lfs")
	}
	if !d.Allowed {
		d.Answer = lfsRefusal(d)
	}
}

// readBatch reads the operation of a batch; anything but a download may write.
func readBatch(header http.Header, body *Body) (gitAct, error) {
	if len(header["Content-Encoding"]) > 0 {
		return "", errPushCoding
	}
	text, err := body.Whole(maxBatch)
	if err != nil {
		return "", err
	}
	batch, err := body.parse(text)
	if err != nil {
		return "", err
	}
	if batch["operation"] == "download" {
		return gitLFS, nil
	}
	return gitLFSPush, nil
}

// lfsRefusal is a refusal whose words git-lfs shows.
func lfsRefusal(d *Decision) *Answer {
	message := "sandbox: " + d.Reason
	if d.Wants != "" {
		message += "; allowed by: " + d.Wants
	}
	text, _ := json.Marshal(map[string]string{"message": message})
	return &Answer{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {lfsType}}, Body: text}
}
