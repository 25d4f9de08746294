// Package github asks GitHub's REST API the few things that the Action needs: who may do
// what in a repository, a pull request with a request for review, and comments on one.
//
//	Client{API, Token, Repository} ─► Permission, OpenPull, RequestReview, PullFiles, AddReview, AddComment
//
// Requests and answers are bounded in time and size. An error has GitHub's own words, and
// never the token.
package github
