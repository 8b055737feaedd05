package storage

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/smithy-go"
	"google.golang.org/api/googleapi"
)

func TestRefusedSaysWhy(t *testing.T) {
	google := func(status int, reason string) error {
		return &googleapi.Error{Code: status, Errors: []googleapi.ErrorItem{{Reason: reason}}}
	}
	for _, c := range []struct {
		err  error
		want string
		full bool
	}{
		{nil, "", false},
		{errors.New("anything"), "", false},
		{context.Canceled, "", false},
		{errThrottled, "", false},
		{syscall.EIO, "", false},
		{syscall.ENOENT, "", false},
		{syscall.ENAMETOOLONG, "", false},
		{&ExistsError{}, "", false},
		{&azcore.ResponseError{StatusCode: 503, ErrorCode: "ServerBusy"}, "", false},
		{google(429, "rateLimitExceeded"), "", false},

		{syscall.ENOSPC, "no space left on device", true},
		{syscall.EDQUOT, "disk quota exceeded", true},
		{&smithy.GenericAPIError{Code: "XMinioStorageFull"}, "no space left (XMinioStorageFull)", true},
		{&smithy.GenericAPIError{Code: "QuotaExceeded"}, "quota exceeded (QuotaExceeded)", true},
		{google(403, "quotaExceeded"), "quota exceeded (quotaExceeded)", true},
		{&azcore.ResponseError{StatusCode: 507}, "no space left (status 507)", true},

		{syscall.EROFS, "the file system is read-only", false},
		{syscall.EACCES, "permission denied", false},
		{syscall.EPERM, "permission denied", false},
		{&smithy.GenericAPIError{Code: "AccessDenied"}, "access denied (AccessDenied)", false},
		{&smithy.GenericAPIError{Code: "AllAccessDisabled"}, "access is disabled (AllAccessDisabled)", false},
		{&smithy.GenericAPIError{Code: "NoSuchBucket"}, "the bucket does not exist (NoSuchBucket)", false},
		{google(403, "forbidden"), "access denied (forbidden)", false},
		{&azcore.ResponseError{StatusCode: 403, ErrorCode: "AuthorizationFailure"}, "access denied (AuthorizationFailure)", false},
		{&azcore.ResponseError{StatusCode: 404, ErrorCode: "ContainerNotFound"}, "the container does not exist (ContainerNotFound)", false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("storage: wrapped: %w", c.err)} {
			if c.err == nil {
				err = nil
			}
			if why := Refused(err); why != c.want || Full(err) != c.full {
				t.Errorf("%v: %q, full %v; want %q, %v", err, why, Full(err), c.want, c.full)
			}
			if c.want != "" && Temporary(err) {
				t.Errorf("%v is refused and temporary", err)
			}
		}
	}
}

func TestProbeTellsAFullDiskFromOneWithRoom(t *testing.T) {
	dir := smallDisk(t)
	b := openDir(t, dir)
	if err := Probe(t.Context(), b, ".pelmill/probe/x", 64<<10); err != nil {
		t.Errorf("with room: %v", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	if err := Probe(t.Context(), b, ".pelmill/probe/x", 4<<20); Refused(err) == "" {
		t.Errorf("without room: %v", err)
	}
}

// A store that answers 507 is not asked again and again.
func TestPutIsNotTriedAgainOnAFullStore(t *testing.T) {
	f := &faulty{onWrite: func(int, []byte) ([]byte, error) { return nil, &azcore.ResponseError{StatusCode: 507} }}
	_, err := Put(t.Context(), f.open(), "k", []byte("x"), nil)
	if !Full(err) || f.writes != 1 {
		t.Errorf("%v after %d writes, want one refused write", err, f.writes)
	}
}
