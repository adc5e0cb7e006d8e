// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools names the program whose version go.mod pins.
package tools

import _ "github.com/matrixorigin/matrixone/cmd/mo-service"
