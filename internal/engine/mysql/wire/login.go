package wire

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
)

// The ways to prove a password that this package knows.
const (
	nativePassword  = "mysql_native_password"
	cachingPassword = "caching_sha2_password"
	ed25519Password = "client_ed25519"
)

// prove answers a plugin's challenge.
func prove(plugin, password string, salt []byte) ([]byte, error) {
	switch plugin {
	case nativePassword, cachingPassword:
		if password == "" {
			return nil, nil
		}
		salt = salt[:min(len(salt), 20)]
	case ed25519Password:
		return sign(password, salt)
	default:
		return nil, fmt.Errorf("the server asks for authentication by %q: known are %s, %s and %s", plugin, nativePassword, cachingPassword, ed25519Password)
	}
	if plugin == nativePassword {
		// SHA1(password) XOR SHA1(salt + SHA1(SHA1(password)))
		once := sha1.Sum([]byte(password))
		twice := sha1.Sum(once[:])
		mask := sha1.Sum(append(append([]byte(nil), salt...), twice[:]...))
		return xor(once[:], mask[:]), nil
	}
	// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + salt)
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	mask := sha256.Sum256(append(append([]byte(nil), twice[:]...), salt...))
	return xor(once[:], mask[:]), nil
}

func xor(a, b []byte) []byte {
	for i := range a {
		a[i] ^= b[i]
	}
	return a
}

// sign makes the Ed25519 signature of message (RFC 8032, section 5.1.6) by the
// key that a password stands for: MariaDB takes the password itself, of whatever
// length, in the place of the 32 bytes of a private key, so that package
// crypto/ed25519 does not do.
func sign(password string, message []byte) ([]byte, error) {
	hash := func(parts ...[]byte) []byte {
		h := sha512.New()
		for _, p := range parts {
			_, _ = h.Write(p) // a hash never fails
		}
		return h.Sum(nil)
	}
	key := hash([]byte(password))
	secret, err := edwards25519.NewScalar().SetBytesWithClamping(key[:32])
	if err != nil {
		return nil, err
	}
	nonce, err := edwards25519.NewScalar().SetUniformBytes(hash(key[32:], message))
	if err != nil {
		return nil, err
	}
	public := new(edwards25519.Point).ScalarBaseMult(secret).Bytes()
	r := new(edwards25519.Point).ScalarBaseMult(nonce).Bytes()
	k, err := edwards25519.NewScalar().SetUniformBytes(hash(r, public, message))
	if err != nil {
		return nil, err
	}
	return append(r, edwards25519.NewScalar().MultiplyAdd(k, secret, nonce).Bytes()...), nil
}

// authenticate logs in on a fresh connection and leaves it ready for commands.
func (c *Conn) authenticate(ctx context.Context, cfg Config) error {
	msg, err := c.in.next()
	if err != nil {
		return err
	}
	g, err := parseGreeting(msg)
	if err != nil {
		return err
	}
	c.id, c.mariaDB, c.version = g.id, g.mariaDB(), g.version
	can := uint64(needed | canFoundRows | canLongFlag | canLocalFiles)
	if c.mariaDB {
		can |= canCacheMetadata & g.can
	} else {
		can |= canLongPassword
	}
	c.cached = can&canCacheMetadata != 0
	if cfg.Database != "" {
		can |= canDatabase
	}
	if cfg.TLS != nil {
		can |= canTLS
		if err := c.encrypt(ctx, &g, can, cfg.TLS); err != nil {
			return err
		}
	}
	if g.plugin != cachingPassword {
		g.plugin = nativePassword // the server asks again where the account has another
	}
	proof, err := prove(g.plugin, cfg.Password, g.salt)
	if err != nil {
		return err
	}
	if err := c.say(g.login(openPacket(nil, c.in.seq+1), cfg, can, proof)); err != nil {
		return err
	}
	return c.admitted(cfg, g.plugin)
}

// encrypt asks for TLS (Protocol::SSLRequest) before anything of the account is
// sent, and goes on encrypted. The server's number of packets counts on.
func (c *Conn) encrypt(ctx context.Context, g *greeting, can uint64, cfg *tls.Config) error {
	if g.can&canTLS == 0 {
		return errors.New("the server offers no TLS")
	}
	if c.in.r != c.in.w {
		return &malformed{"the server goes on before it is encrypted"}
	}
	if err := c.say(appendClient(openPacket(nil, c.in.seq+1), can)); err != nil {
		return err
	}
	t := tls.Client(c.net, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	seq := c.in.seq + 1
	c.net, c.tls = t, t
	c.in = newInput(t.Read)
	c.in.seq = seq
	return nil
}

// appendClient appends what a client says of itself, before and after TLS.
func appendClient(b []byte, can uint64) []byte {
	// 45 is utf8mb4_general_ci, which both products have: it says that texts
	// are UTF-8 in both directions.
	const charset = 45
	b = binary.LittleEndian.AppendUint32(b, uint32(can))
	b = binary.LittleEndian.AppendUint32(b, maxPacket)
	b = append(b, charset)
	b = append(b, make([]byte, 19)...)
	return binary.LittleEndian.AppendUint32(b, uint32(can>>32))
}

// login appends the answer to the greeting (Protocol::HandshakeResponse41).
func (g *greeting) login(b []byte, c Config, can uint64, proof []byte) []byte {
	b = appendClient(b, can)
	b = append(append(b, c.User...), 0)
	b = append(appendLength(b, len(proof)), proof...)
	if can&canDatabase != 0 {
		b = append(append(b, c.Database...), 0)
	}
	return append(append(b, g.plugin...), 0)
}

// admitted reads the server's verdict and answers what else it asks.
func (c *Conn) admitted(cfg Config, plugin string) error {
	const rounds = 6 // a switch, a full exchange, and the verdict need fewer
	for range rounds {
		msg, err := c.in.next()
		if err != nil {
			return err
		}
		switch {
		case msg[0] == 0x00:
			return c.ok(msg)
		case msg[0] == 0xff:
			return parseError(msg)
		case msg[0] == 0xfe: // AuthSwitchRequest
			b := body{b: msg[1:]}
			plugin = b.zero()
			if b.bad {
				return errors.New("the server asks for authentication of before version 4.1")
			}
			proof, err := prove(plugin, cfg.Password, b.b)
			if err != nil {
				return err
			}
			if err := c.say(append(openPacket(nil, c.in.seq+1), proof...)); err != nil {
				return err
			}
		case msg[0] == 0x01 && len(msg) == 2 && msg[1] == 3: // found in the cache: the verdict follows
		case msg[0] == 0x01 && len(msg) == 2 && msg[1] == 4:
			// Not in the cache: the password itself, which the server takes
			// over a Unix socket and over TLS.
			if cfg.Network != "unix" && (cfg.TLS == nil || !cfg.Verified) {
				return errors.New("the server asks for the password itself, which goes only over a Unix socket or to a server whose certificate was verified")
			}
			if err := c.say(append(append(openPacket(nil, c.in.seq+1), cfg.Password...), 0)); err != nil {
				return err
			}
		default:
			return &malformed{fmt.Sprintf("%x while authenticating by %s", msg[:min(len(msg), 8)], plugin)}
		}
	}
	return &malformed{"the authentication has no end"}
}

// say writes one packet the ordinary way.
func (c *Conn) say(packet []byte) error {
	packet, err := closePacket(packet, 0)
	if err != nil {
		return err
	}
	c.in.reset()
	_, err = c.net.Write(packet)
	return err
}
