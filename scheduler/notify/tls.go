package notify

import (
	"crypto/tls"
	"crypto/x509"
)

// tlsConfig trusts certificates of these roots.
func tlsConfig(roots *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: roots} }
