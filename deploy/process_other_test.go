//go:build !linux

package deploy_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
