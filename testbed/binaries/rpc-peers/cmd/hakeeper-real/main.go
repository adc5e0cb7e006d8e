// SPDX-License-Identifier: Apache-2.0

// Command hakeeper-real runs genuine log services (Raft and HAKeeper included) in one process on
// loopback, heartbeats for stores that do not exist, and a genuine lock-table allocator with the
// lock service of one compute node, whose transactions are scripted over HTTP.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lni/vfs"
	"github.com/matrixorigin/matrixone/pkg/clusterservice"
	"github.com/matrixorigin/matrixone/pkg/common/morpc"
	"github.com/matrixorigin/matrixone/pkg/common/runtime"
	"github.com/matrixorigin/matrixone/pkg/defines"
	"github.com/matrixorigin/matrixone/pkg/fileservice"
	"github.com/matrixorigin/matrixone/pkg/lockservice"
	"github.com/matrixorigin/matrixone/pkg/logservice"
	"github.com/matrixorigin/matrixone/pkg/logutil"
	"github.com/matrixorigin/matrixone/pkg/pb/lock"
	pb "github.com/matrixorigin/matrixone/pkg/pb/logservice"
	"github.com/matrixorigin/matrixone/pkg/pb/timestamp"
	"github.com/matrixorigin/matrixone/pkg/util/toml"

	"matrixorigin.io/testbed/rpc-peers/internal/sim"
)

func memFS() *fileservice.FileServices {
	mk := func(n string) fileservice.FileService {
		f, err := fileservice.NewMemoryFS(n, fileservice.DisabledCacheConfig, nil)
		fatal(err)
		return f
	}
	fs, err := fileservice.NewFileServices("", mk(defines.LocalFileServiceName), mk(defines.SharedFileServiceName), mk(defines.ETLFileServiceName))
	fatal(err)
	return fs
}

func main() {
	nodes := flag.Int("nodes", 3, "log service nodes (all carry a HAKeeper replica)")
	spare := flag.Int("spare", 0, "extra log service nodes without a HAKeeper replica")
	base := flag.Int("port", 21600, "port base: node i uses base+10i (raft), +1 (service), +2 (gossip)")
	cns := flag.Int("cns", 2, "fake CN stores to heartbeat")
	lockAddr := flag.String("lock-listen", "127.0.0.1:21700", "genuine lock-table allocator address")
	control := flag.String("control", "127.0.0.1:21800", "HTTP control")
	level := flag.String("log", "error", "log level")
	flag.Parse()
	logutil.SetupMOLogger(&logutil.LogConfig{Level: *level, Format: "console", DisableStore: true})
	logger := logutil.GetGlobalLogger()
	sim.SetupRuntime("", logger)

	total := *nodes + *spare
	var members, svc, seeds []string
	uuid := func(i int) string { return fmt.Sprintf("10000000-0000-0000-0000-%012d", i) }
	for i := 0; i < total; i++ {
		if i < *nodes {
			members = append(members, fmt.Sprintf("%d:%s", 131072+i, uuid(i)))
		}
		svc = append(svc, fmt.Sprintf("127.0.0.1:%d", *base+10*i+1))
		seeds = append(seeds, fmt.Sprintf("127.0.0.1:%d", *base+10*i+2))
	}
	var services []*logservice.Service
	for i := 0; i < total; i++ {
		cfg := logservice.DefaultConfig()
		cfg.UUID = uuid(i)
		cfg.FS = vfs.NewStrictMem()
		cfg.RTTMillisecond = 20
		// the *Port settings would listen on all interfaces; the address settings keep loopback
		cfg.ServiceHost = "127.0.0.1"
		cfg.RaftPort, cfg.LogServicePort, cfg.GossipPort = 0, 0, 0
		cfg.RaftAddress = fmt.Sprintf("127.0.0.1:%d", *base+10*i)
		cfg.RaftListenAddress = cfg.RaftAddress
		cfg.ServiceAddress = fmt.Sprintf("127.0.0.1:%d", *base+10*i+1)
		cfg.ServiceListenAddress = cfg.ServiceAddress
		cfg.GossipAddress = fmt.Sprintf("127.0.0.1:%d", *base+10*i+2)
		cfg.GossipListenAddress = cfg.GossipAddress
		cfg.GossipSeedAddresses = seeds
		cfg.GossipProbeInterval = toml.Duration{Duration: 50 * time.Millisecond}
		cfg.BootstrapConfig.NumOfLogShardReplicas = uint64(*nodes)
		cfg.BootstrapConfig.InitHAKeeperMembers = members
		cfg.HAKeeperClientConfig.ServiceAddresses = svc
		sim.SetupRuntime(cfg.UUID, logger)
		s, err := logservice.NewService(cfg, memFS(), make(chan struct{}, 1), logservice.WithRuntime(runtime.ServiceRuntime(cfg.UUID)))
		fatal(err)
		services = append(services, s)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			fatal(s.BootstrapHAKeeper(ctx, cfg))
		}()
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hcfg := logservice.HAKeeperClientConfig{ServiceAddresses: svc}
	var cnc logservice.CNHAKeeperClient
	var tnc logservice.TNHAKeeperClient
	for {
		var err error
		if cnc, err = logservice.NewCNHAKeeperClient(ctx, "", hcfg); err == nil {
			if tnc, err = logservice.NewTNHAKeeperClient(ctx, "", hcfg); err == nil {
				break
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
	var cnDown, tnDown atomic.Bool
	cnID := func(i int) string { return fmt.Sprintf("30000000-0000-0000-0000-%012d", i) }
	cnLock := "127.0.0.1:21701"
	beat := func() {
		c, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		for i := 0; i < *cns && !cnDown.Load(); i++ {
			hb := pb.CNStoreHeartbeat{UUID: cnID(i), ServiceAddress: "127.0.0.1:2", SQLAddress: "127.0.0.1:1", LockServiceAddress: "127.0.0.1:3", QueryAddress: "127.0.0.1:4", TaskServiceCreated: true, GossipJoined: true, CommitID: "abc"}
			if i == 0 {
				hb.LockServiceAddress = cnLock
			}
			_, _ = cnc.SendCNHeartbeat(c, hb)
		}
		if !tnDown.Load() {
			_, _ = tnc.SendTNHeartbeat(c, pb.TNStoreHeartbeat{UUID: "20000000-0000-0000-0000-000000000000", ServiceAddress: "127.0.0.1:5", LogtailServerAddress: "127.0.0.1:6", LockServiceAddress: *lockAddr, QueryAddress: "127.0.0.1:7", Shards: []pb.TNShardInfo{{ShardID: 2, ReplicaID: 262160}}, TaskServiceCreated: true})
		}
	}
	beat()
	go func() {
		for {
			time.Sleep(time.Second)
			beat()
		}
	}()

	// genuine allocator (TN side) and genuine lock service of CN 0
	mc := clusterservice.NewMOCluster("", cnc, time.Second)
	runtime.ServiceRuntime("").SetGlobalVariables(runtime.ClusterService, mc)
	sim.SetupRuntime(cnID(0), logger)
	runtime.ServiceRuntime(cnID(0)).SetGlobalVariables(runtime.ClusterService, mc)
	rpc := morpc.Config{}
	rpc.Adjust()
	alloc := lockservice.NewLockTableAllocator("", *lockAddr, 10*time.Second, rpc)
	defer alloc.Close()
	var txnMu sync.Mutex
	txns := map[string]bool{}
	ls := lockservice.NewLockService(lockservice.Config{ServiceID: cnID(0), ListenAddress: cnLock, ServiceAddress: cnLock, KeepBindDuration: toml.Duration{Duration: time.Second}, RPC: rpc, TxnIterFunc: func(fn func([]byte) bool) {
		txnMu.Lock()
		defer txnMu.Unlock()
		for t := range txns {
			if !fn([]byte(t)) {
				return
			}
		}
	}})

	m := http.NewServeMux()
	m.HandleFunc("/cn", func(w http.ResponseWriter, r *http.Request) {
		cnDown.Store(r.FormValue("down") == "1")
		fmt.Fprintln(w, "ok")
	})
	m.HandleFunc("/tn", func(w http.ResponseWriter, r *http.Request) {
		tnDown.Store(r.FormValue("down") == "1")
		fmt.Fprintln(w, "ok")
	})
	m.HandleFunc("/stop", func(w http.ResponseWriter, r *http.Request) {
		i := int(r.FormValue("i")[0] - '0')
		fmt.Fprintln(w, services[i].Close())
	})
	// /lock?txn=a locks a row of table 1000 for transaction a; /unlock?txn=a releases it
	m.HandleFunc("/lock", func(w http.ResponseWriter, r *http.Request) {
		c, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		txnMu.Lock()
		txns[r.FormValue("txn")] = true
		txnMu.Unlock()
		_, err := ls.Lock(c, 1000, [][]byte{[]byte("row-" + r.FormValue("txn"))}, []byte(r.FormValue("txn")), lock.LockOptions{})
		fmt.Fprintln(w, err)
	})
	m.HandleFunc("/unlock", func(w http.ResponseWriter, r *http.Request) {
		c, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		txnMu.Lock()
		delete(txns, r.FormValue("txn"))
		txnMu.Unlock()
		fmt.Fprintln(w, ls.Unlock(c, []byte(r.FormValue("txn")), timestamp.Timestamp{}))
	})
	listener, err := net.Listen("tcp", *control)
	fatal(err)
	go func() { fatal(http.Serve(listener, m)) }()
	fmt.Printf("ready hakeeper=%s lock=%s control=%s\n", strings.Join(svc, ","), *lockAddr, *control)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	<-ch
	os.Exit(0)
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fatal:", err)
		os.Exit(1)
	}
}
