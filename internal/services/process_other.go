//go:build !linux

package services

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
