// SPDX-License-Identifier: Apache-2.0

// Command node-init is the first process of a pid namespace: it waits for the end and buries
// orphans. It holds a real node's namespaces, and is the pause container of its pods.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func bury() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for number := range signals {
		if number != syscall.SIGCHLD {
			return
		}
		bury()
	}
}
