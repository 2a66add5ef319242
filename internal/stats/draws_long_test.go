//go:build long

package stats_test

// draws is the number of simulated studies of the long version.
const draws = 200000
