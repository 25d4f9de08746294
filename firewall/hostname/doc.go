// Package hostname brings host names into the one form in which policies,
// queries, certificates and answers are compared.
package hostname
