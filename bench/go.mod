module github.com/seed-506d8e5d/svc/bench

go 1.26.0

require golang.org/x/sys v0.49.0
