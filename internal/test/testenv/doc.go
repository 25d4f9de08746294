// Package testenv finds the real components that tests run against. A missing
// component skips the test on a user's machine and fails it in CI, so that a
// green CI run means that nothing was left out.
package testenv
