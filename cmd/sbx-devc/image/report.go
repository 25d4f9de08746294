package image

import (
	"cmp"
	"fmt"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/progress"
)

// transfer is the state of a blob as people see it. Only one that has ended has a How.
func transfer(p registry.Progress) progress.Transfer {
	return progress.Transfer{ID: p.Digest.String(), Name: p.What, Size: p.Size, Sent: p.Sent,
		Done: string(p.How), Quiet: p.How == registry.Exists}
}

func printPush(a *cli.App, r *registry.Report, o pushOptions) error {
	if o.json {
		return cli.PrintJSON(a.Stdout, r)
	}
	if o.dryRun {
		for _, b := range r.Blobs {
			// The steps that would be taken, not those that were.
			how := map[registry.Outcome]registry.Outcome{registry.Uploaded: "upload", registry.Mounted: "mount"}[b.How]
			fmt.Fprintf(a.Stdout, "%-8s %10s  %s  %s\n", cmp.Or(how, b.How), progress.Size(b.Size), b.Digest, b.What)
		}
		for _, t := range r.Tags {
			state := "new"
			switch {
			case t.Was == r.Digest:
				state = "stays"
			case t.Was.Hex != "":
				state = "moves from " + t.Was.String()
			}
			fmt.Fprintf(a.Stdout, "tag      %s:%s  %s\n", r.Repository, t.Name, state)
		}
		_, err := fmt.Fprintf(a.Stdout, "digest   %s@%s  %s to upload\n", r.Repository, r.Digest, progress.Size(r.Sent))
		return err
	}
	switch {
	case r.Unchanged:
		fmt.Fprintf(a.Stderr, "sbx-devc: %s has this image already (%d requests)\n", r.Repository, r.Requests)
	default:
		fmt.Fprintf(a.Stderr, "sbx-devc: pushed to %s: %s sent, %d requests, read back\n", r.Repository, progress.Size(r.Sent), r.Requests)
	}
	for _, t := range r.Tags {
		if _, err := fmt.Fprintf(a.Stdout, "%s:%s@%s\n", r.Repository, t.Name, r.Digest); err != nil {
			return err
		}
	}
	if len(r.Tags) == 0 {
		_, err := fmt.Fprintf(a.Stdout, "%s@%s\n", r.Repository, r.Digest)
		return err
	}
	return nil
}
