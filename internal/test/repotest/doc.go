// Package repotest holds tests about the repository itself: which package may
// import which, that every package says what it is for, and that the README
// tells the truth. It has no code of its own.
package repotest
