package orderentry

import _ "embed" // for the procedures

//go:embed mysql.sql
var mysql string
