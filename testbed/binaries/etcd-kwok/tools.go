// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names the programs whose versions go.mod pins.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
