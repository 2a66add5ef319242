package dvdstore

import _ "embed" // for the procedures

//go:embed mysql_strict.sql
var mysqlStrict string

//go:embed mysql_compat.sql
var mysqlCompat string
