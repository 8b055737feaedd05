package storage

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"syscall"

	"gocloud.dev/gcerrors"
)

// Full reports whether a write failed because the disk or the quota is full; every further write that is as large
// will.
func Full(err error) bool { return fullness(err) != "" }

// Refused says in a few words why a store refused a write that may be right: there is no room, the folder is
// read-only, the bucket is gone, or we are not let in. It is empty for every other error. Unless the store is [Full]
// the refusal can be of the one key only; a write to another key tells. No write helps until somebody has changed the
// store, so Refused errors are never [Temporary].
func Refused(err error) string {
	if err == nil || errors.Is(err, context.Canceled) || Temporary(err) {
		return ""
	}
	if why := fullness(err); why != "" {
		return why
	}
	if code := errorCode(err); code != "" {
		if why := refusals[code]; why != "" {
			return why + " (" + code + ")"
		}
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case gcerrors.Code(err) == gcerrors.PermissionDenied:
		return "access denied"
	}
	switch httpStatus(err) {
	case http.StatusUnauthorized, http.StatusForbidden:
		if reason := googleReason(err); reason != "" {
			return "access denied (" + reason + ")"
		}
		if code := errorCode(err); code != "" {
			return "access denied (" + code + ")"
		}
		return "access denied"
	}
	return ""
}

// RefusedError is a write that a store refused, see [Refused].
type RefusedError struct {
	Why   string // as Refused says it
	Bytes int64  // of the write
	Err   error
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap gives the error of the write.
func (e *RefusedError) Unwrap() error { return e.Err }

// Reason is one clause for people.
func (e *RefusedError) Reason() string { return "the target refuses writes: " + e.Why }

// RefusedWrite makes a [*RefusedError] of the error of a write of so many bytes, if
// the store refused it; every other error stays as it is.
func RefusedWrite(err error, bytes int64) error {
	if why := Refused(err); why != "" {
		return &RefusedError{Why: why, Bytes: bytes, Err: err}
	}
	return err
}

// refusals are the codes of S3 and its kin, and of Azure, whose status alone does not tell what they mean.
var refusals = map[string]string{
	"NoSuchBucket":      "the bucket does not exist",
	"ContainerNotFound": "the container does not exist",

	"AllAccessDisabled": "access is disabled",
	"AccountProblem":    "access is disabled",
	"AccountIsDisabled": "access is disabled",
	"ContainerDisabled": "access is disabled",

	"AccessDenied":          "access denied",
	"InvalidAccessKeyId":    "access denied",
	"SignatureDoesNotMatch": "access denied",
	"ExpiredToken":          "access denied",
	"InvalidToken":          "access denied",
	"AuthenticationFailed":  "access denied",
	"NotSignedUp":           "access denied",
}

// fullness says what is full, or is empty.
func fullness(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.ENOSPC):
		return "no space left on device"
	case errors.Is(err, syscall.EDQUOT):
		return "disk quota exceeded"
	case driverCode(err) == gcerrors.ResourceExhausted:
		return "no space left"
	}
	switch code := errorCode(err); code {
	case "XMinioStorageFull", "InsufficientStorage":
		return "no space left (" + code + ")"
	case "QuotaExceeded", "QuotaExceededException", "XMinioAdminBucketQuotaExceeded", "StorageQuotaExceeded", "AccountLimitExceeded":
		return "quota exceeded (" + code + ")"
	}
	switch reason := googleReason(err); reason {
	case "quotaExceeded", "storageQuotaExceeded":
		return "quota exceeded (" + reason + ")"
	}
	if httpStatus(err) == http.StatusInsufficientStorage {
		return "no space left (status 507)"
	}
	return ""
}
