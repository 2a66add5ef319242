//go:build !debug

package dbms

// checkEveryEvent is for debug builds.
const checkEveryEvent = false
