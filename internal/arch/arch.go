// Package arch holds no code: its test executes the import rules of
// docs/guide/architecture.md.
package arch
