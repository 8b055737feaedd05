package storage

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"gocloud.dev/gcerrors"
)

// ErrChanged means that the object is no longer the one that was listed: list it again, do not use what was read.
var ErrChanged = errors.New("object changed since it was listed")

// errMismatch means that the bytes that arrived, or that were stored, are not those that left. It is temporary.
var errMismatch = errors.New("bytes differ from those expected")

// ExistsError means that Put found another object under the key and left it. Metadata tells whose it is.
type ExistsError struct {
	URL, Key string
	Object   Object
	Metadata map[string]string // nil in folders
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("storage: %s: %q exists with other content (%d bytes)", e.URL, e.Key, e.Object.Size)
}

// TooLargeError means that Get refused an object, before reading it.
type TooLargeError struct {
	URL, Key    string
	Size, Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("storage: %s: %q has %d bytes, more than the limit of %d", e.URL, e.Key, e.Size, e.Limit)
}

// IsNotExist reports whether an object, its bucket or its folder does not exist.
func IsNotExist(err error) bool {
	return err != nil && gcerrors.Code(err) == gcerrors.NotFound || driverCode(err) == gcerrors.NotFound
}

// NoPlace reports whether a key names no place in a folder that may be used: its path leads through a link, or out of the
// folder, or is none.
func NoPlace(err error) bool { return errors.Is(err, errLink) || errors.Is(err, errBadKey) }

// Temporary reports whether the same call may succeed later: throttling, a server's fault, a conflict with another
// writer, a broken or slow connection, fewer or other bytes than announced. The functions of this package have tried
// several times when they return such an error.
func Temporary(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrChanged) || certificate(err) {
		return false
	}
	switch httpStatus(err) {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, 509:
		return true
	case http.StatusConflict:
		if googleStatus(err) != 0 { // another request changes the object or its metadata; the other stores say with a code what is in the way
			return true
		}
	}
	switch errorCode(err) {
	case "ConditionalRequestConflict", "OperationAborted", // S3: two writers at once
		"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "ServerBusy",
		"InternalError", "ServiceUnavailable", "RequestTimeout", "RequestTimeTooSkewed", "OperationTimedOut", "IncompleteBody",
		"BadDigest", "XAmzContentChecksumMismatch", "Md5Mismatch": // damaged on the way
		return true
	}
	for _, e := range []error{errMismatch, errStalled, io.ErrUnexpectedEOF, context.DeadlineExceeded, syscall.ECONNRESET, syscall.ECONNABORTED,
		syscall.ECONNREFUSED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EINTR, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE} {
		if errors.Is(err, e) {
			return true
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary || dns.IsTimeout
	}
	var n net.Error
	var op *net.OpError
	var u *url.Error // of a connection that the server closed before it answered
	return errors.As(err, &n) && n.Timeout() || errors.As(err, &op) || errors.As(err, &u) && errors.Is(err, io.EOF)
}

// Unreachable reports whether the store cannot be reached or does not let us in: no connection, no such host, no or
// wrong credentials, no rights, no such bucket, a read-only folder. The program ends with exit code 8 on it. An
// error can be both Temporary and Unreachable.
func Unreachable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if gcerrors.Code(err) == gcerrors.PermissionDenied || driverCode(err) == gcerrors.PermissionDenied || certificate(err) {
		return true
	}
	switch httpStatus(err) {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	switch errorCode(err) {
	case "NoSuchBucket", "ContainerNotFound", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AccessDenied", "AuthenticationFailed":
		return true
	}
	var dns *net.DNSError
	var op *net.OpError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" || errors.Is(err, syscall.ECONNREFUSED) ||
		unsigned(err) || strings.Contains(err.Error(), "could not find default credentials") // Google: has no type
}

// httpStatus returns the status with which a store answered, or 0.
func httpStatus(err error) int {
	if status := googleStatus(err); status != 0 {
		return status
	}
	if status, _ := azureAnswer(err); status != 0 {
		return status
	}
	var s interface{ HTTPStatusCode() int } // of AWS
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// errorCode returns the store's own name for an error, or "".
func errorCode(err error) string {
	if _, code := azureAnswer(err); code != "" {
		return code
	}
	var s interface { // of AWS: smithy.APIError
		ErrorCode() string
		ErrorMessage() string
	}
	if errors.As(err, &s) {
		return s.ErrorCode()
	}
	return ""
}

func certificate(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
