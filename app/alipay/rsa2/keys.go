package rsa2

import (
	"crypto/md5" // only for the gateway's names of certificates; no security depends on it
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// MinBits is the minimum length of an RSA key, in bits.
const MinBits = 2048

// ParsePrivateKey parses an RSA private key: PKCS #8 or PKCS #1, as PEM or as plain base64 written by Alipay's key
// tool.
func ParsePrivateKey(text string) (*rsa.PrivateKey, error) {
	der, err := decode(text)
	if err != nil {
		return nil, err
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, longEnough(key.N.BitLen())
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("it is not a private key in PKCS #8 or PKCS #1" + otherKind(text))
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is a %T, and RSA2 needs an RSA key", parsed)
	}
	return key, longEnough(key.N.BitLen())
}

// ParsePublicKey parses an RSA public key: PKIX or PKCS #1, as PEM or as plain base64.
func ParsePublicKey(text string) (*rsa.PublicKey, error) {
	der, err := decode(text)
	if err != nil {
		return nil, err
	}
	if key, err := x509.ParsePKCS1PublicKey(der); err == nil {
		return key, longEnough(key.N.BitLen())
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("it is not a public key" + otherKind(text))
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("it is a %T, and RSA2 needs an RSA key", parsed)
	}
	return key, longEnough(key.N.BitLen())
}

// ParseCertificate parses the first certificate of a PEM text.
func ParseCertificate(text string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it has no PEM certificate")
	}
	return x509.ParseCertificate(block.Bytes)
}

// SerialNumber returns the gateway's name for a certificate: MD5 of issuer and serial number, in hexadecimal.
func SerialNumber(cert *x509.Certificate) string {
	sum := md5.Sum([]byte(cert.Issuer.String() + cert.SerialNumber.String()))
	return hex.EncodeToString(sum[:])
}

// RootSerialNumber returns the name of a bundle of root certificates: the names of those signed with RSA, joined by _.
// Alipay's own bundle also has certificates with other algorithms (SM2), which are ignored.
func RootSerialNumber(bundle string) (string, error) {
	var names []string
	for rest := []byte(bundle); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if a := cert.SignatureAlgorithm; a == x509.SHA256WithRSA || a == x509.SHA1WithRSA {
			names = append(names, SerialNumber(cert))
		}
	}
	if len(names) == 0 {
		return "", errors.New("it has no root certificate with an RSA signature")
	}
	return strings.Join(names, "_"), nil
}

// decode decodes PEM, or plain base64 with optional line breaks.
func decode(text string) ([]byte, error) {
	if strings.Contains(text, "ENCRYPTED") {
		return nil, errors.New("it is encrypted: decrypt it with `openssl pkey -in KEY -out DECRYPTED`, mode 0400")
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		return block.Bytes, nil
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || len(der) == 0 {
		return nil, errors.New("it is neither PEM nor base64")
	}
	return der, nil
}

// otherKind names the content of a PEM block of another kind, for an error.
func otherKind(text string) string {
	if block, _ := pem.Decode([]byte(text)); block != nil {
		return ", it is a " + strings.ToLower(block.Type)
	}
	return ""
}

func longEnough(bits int) error {
	if bits < MinBits {
		return fmt.Errorf("it has %d bits, RSA2 needs at least %d", bits, MinBits)
	}
	return nil
}
