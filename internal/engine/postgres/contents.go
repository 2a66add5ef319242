package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// countedBytes is up to what size the rows of a table are counted to verify a
// copy; of larger ones the size alone tells, or verifying would take longer
// than what is measured.
const countedBytes = 1 << 30

// contents is what a copy is compared by: the sizes of all tables and indexes,
// and the rows of tables up to countedBytes.
type contents struct {
	Relations []relation `json:"relations"`
}

// relation is a table or an index.
type relation struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // of its data, without the maps beside it, which vacuum changes
	Rows  int64  `json:"rows"`  // -1 where they are not counted
}

// contentsOf looks at a database.
func (s *running) contentsOf(ctx context.Context, database string) (contents, error) {
	fail := func(err error) (contents, error) {
		return contents{}, fmt.Errorf("look at database %s: %w", database, err)
	}
	conn, err := s.connectTo(ctx, database)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := ask(ctx, conn, `SELECT quote_ident(relname), relkind, pg_relation_size(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') AND relname <> '`+markTable+`' ORDER BY relname COLLATE "C"`)
	if err != nil {
		return fail(err)
	}
	var out contents
	for _, r := range rows {
		one := relation{Name: r[0], Rows: -1}
		if one.Bytes, err = strconv.ParseInt(r[2], 10, 64); err != nil {
			return fail(err)
		}
		if r[1] == "r" && one.Bytes <= countedBytes {
			count, err := ask(ctx, conn, "SELECT count(*) FROM public."+r[0])
			if err != nil {
				return fail(err)
			}
			if one.Rows, err = strconv.ParseInt(count[0][0], 10, 64); err != nil {
				return fail(err)
			}
		}
		out.Relations = append(out.Relations, one)
	}
	return out, nil
}

// same says how c differs from what it should be.
func (c contents) same(want contents) error {
	for _, w := range want.Relations {
		i := slices.IndexFunc(c.Relations, func(r relation) bool { return r.Name == w.Name })
		if i < 0 {
			return fmt.Errorf("%s is missing", w.Name)
		}
		if got := c.Relations[i]; got != w {
			return fmt.Errorf("%s has %d rows in %d bytes, and had %d in %d", w.Name, got.Rows, got.Bytes, w.Rows, w.Bytes)
		}
	}
	if len(c.Relations) != len(want.Relations) {
		return fmt.Errorf("there are %d tables and indexes, and were %d", len(c.Relations), len(want.Relations))
	}
	return nil
}

// digest is the SHA-256 of what is compared, in hexadecimal.
func (c contents) digest() string {
	var b strings.Builder
	for _, r := range c.Relations {
		fmt.Fprintf(&b, "%s %d %d\n", r.Name, r.Bytes, r.Rows)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// about says in words what the digest covers.
func (c contents) about() string {
	counted := 0
	for _, r := range c.Relations {
		if r.Rows >= 0 {
			counted++
		}
	}
	return fmt.Sprintf("rows of %d tables, sizes of %d tables and indexes", counted, len(c.Relations))
}
