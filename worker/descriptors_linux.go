package worker

import "golang.org/x/sys/unix"

// growDescriptors makes room for as many open files as a worker with cards has. The kernel makes a table twice as large each time
// that it is full, and waits in a process of several threads until no processor reads the old one, up to 60 ms while all are busy: as long
// everybody waits who opens a file. Here that happens once, and early. Without the room it happens later.
func growDescriptors() {
	for n := 2047; n > 255; n /= 2 { // as many as the process may have open
		if fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, n); err == nil {
			unix.Close(fd)
			return
		}
	}
}
