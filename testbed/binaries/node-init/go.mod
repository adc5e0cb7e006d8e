module matrixorigin.io/testbed/node-init

go 1.21
