//go:build debug

package dbms

// checkEveryEvent has every System check itself after every event: slow, but
// a fault shows where it happens.
const checkEveryEvent = true
