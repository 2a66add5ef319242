package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS is how to encrypt, nil where nothing is; it reads the files that the URL
// names. Hosts are verified by the certificate's alternative names, as Go does:
// a common name alone, which the products' own libraries still accept, is not
// enough.
func (e *Endpoint) TLS() (*tls.Config, error) {
	if e.mode == "disable" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: e.Host}
	if e.rootCert != "" {
		pem, err := os.ReadFile(e.rootCert)
		if err != nil {
			return nil, fmt.Errorf("sslrootcert: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("sslrootcert: %s holds no certificate", e.rootCert)
		}
	}
	if e.cert != "" {
		pair, err := tls.LoadX509KeyPair(e.cert, e.key)
		if err != nil {
			return nil, fmt.Errorf("sslcert and sslkey: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	switch e.mode {
	case "require":
		c.InsecureSkipVerify = true //nolint:gosec // what "require" means: encrypted, not verified
	case "verify-ca":
		// Package crypto/tls verifies the name with the chain or nothing at all.
		c.InsecureSkipVerify = true //nolint:gosec // the chain is verified below
		c.VerifyConnection = func(s tls.ConnectionState) error { return verifyChain(s, c.RootCAs) }
	}
	return c, nil
}

// verifyChain verifies that an authority among roots vouches for the server's
// certificate, whatever host it names.
func verifyChain(s tls.ConnectionState, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
