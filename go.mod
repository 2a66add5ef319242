module github.com/loadstone-perf/loadstone

go 1.26
