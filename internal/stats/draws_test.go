//go:build !long

package stats_test

// draws is the number of series that a simulation takes, or is a part of.
// The build tag long takes ten times as many.
const draws = 20000
