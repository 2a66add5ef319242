package wire

import (
	"fmt"
	"strings"
)

// What the client can do (Capabilities Flags). The first is MySQL's "long
// password": a client that leaves it out is one that knows MariaDB's extended
// capabilities, which stand in the upper half.
const (
	canLongPassword  = 1 << 0
	canFoundRows     = 1 << 1 // affected rows are those found, changed or not, as in other products
	canLongFlag      = 1 << 2
	canDatabase      = 1 << 3
	canLocalFiles    = 1 << 7
	canProtocol41    = 1 << 9
	canTLS           = 1 << 11
	canTransactions  = 1 << 13
	canSecure        = 1 << 15
	canMultiText     = 1 << 16 // several statements in one text
	canMultiResults  = 1 << 17
	canPlugins       = 1 << 19
	canLongAnswer    = 1 << 21 // the authentication's answer has a length before it
	canNoEOF         = 1 << 24
	canCacheMetadata = 1 << 36 // columns are described again only where they changed
)

// needed are what a server must be able to do: MariaDB 10.2 and MySQL 5.7 can.
const needed = canProtocol41 | canTransactions | canSecure | canMultiText | canMultiResults | canPlugins | canLongAnswer | canNoEOF

// greeting is what the server says first (Protocol::HandshakeV10).
type greeting struct {
	version string // "10.11.19-MariaDB", "8.0.36"
	id      uint32 // of the connection
	can     uint64
	plugin  string
	salt    []byte
}

func parseGreeting(msg []byte) (greeting, error) {
	if msg[0] == 0xff {
		return greeting{}, parseError(msg)
	}
	if msg[0] != 10 {
		return greeting{}, &malformed{fmt.Sprintf("protocol version %d, want 10", msg[0])}
	}
	b := body{b: msg[1:]}
	g := greeting{version: b.zero(), id: b.uint32()}
	g.salt = append(g.salt, b.take(8)...)
	b.take(1)
	low := b.uint16()
	b.take(3)
	g.can = uint64(low) | uint64(b.uint16())<<16
	saltLength := int(b.byte())
	b.take(6)
	extended := b.uint32()
	if g.can&canLongPassword == 0 {
		g.can |= uint64(extended) << 32
	}
	// The second part has at least 13 bytes, the last of which is a zero.
	rest := b.take(max(13, saltLength-8))
	if len(rest) > 0 {
		g.salt = append(g.salt, rest[:len(rest)-1]...)
	}
	if b.bad {
		return g, &malformed{"the greeting ends too early"}
	}
	g.plugin = b.zero() // some end without a zero, and then say nothing of use
	if missing := needed &^ g.can; missing != 0 {
		return g, fmt.Errorf("server %s lacks capabilities %#x", g.version, missing)
	}
	return g, nil
}

// mariaDB says whether the server is MariaDB.
func (g *greeting) mariaDB() bool { return strings.Contains(g.version, "MariaDB") }
