//go:build unix

package enginetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loadstone-perf/loadstone/internal/clock"
)

// WriteCertificates writes what a server needs for TLS into dir: ca.crt, an
// authority's certificate; server.crt and server.key, by that authority for
// localhost and 127.0.0.1 alone; and other.crt, of an authority that vouches for
// nobody. The key is owner's, where owner is not nil, and everybody may enter
// dir.
func WriteCertificates(dir string, owner *syscall.Credential) error {
	for _, name := range []string{"other", "ca"} { // the last one signs
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		ca := certificate("authority " + name)
		ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
		if err := sign(filepath.Join(dir, name+".crt"), ca, ca, key, key); err != nil {
			return err
		}
		if name == "ca" {
			own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				return err
			}
			server := certificate("server")
			server.DNSNames, server.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
			if err := sign(filepath.Join(dir, "server.crt"), server, ca, own, key); err != nil {
				return err
			}
			if err := writeKey(filepath.Join(dir, "server.key"), own, owner); err != nil {
				return err
			}
		}
	}
	return os.Chmod(dir, 0o755)
}

func certificate(name string) *x509.Certificate {
	now := clock.Real{}.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), BasicConstraintsValid: true,
	}
}

// sign writes the certificate c of own, signed by parent's key.
func sign(path string, c, parent *x509.Certificate, own, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &own.PublicKey, key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// writeKey writes a key that only owner may read.
func writeKey(path string, key *ecdsa.PrivateKey, owner *syscall.Credential) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
