// SPDX-License-Identifier: Apache-2.0

// Command hakeeper-sim is a HAKeeper whose time, stores and faults are scripted over HTTP. Its state
// machine, RPC server and codec are the database's own; only the answers of the lock service and the
// counters of the query service are made up. It prints "ready" when it listens.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/matrixorigin/matrixone/pkg/logutil"
	pb "github.com/matrixorigin/matrixone/pkg/pb/logservice"
	"go.uber.org/zap"

	"matrixorigin.io/testbed/rpc-peers/internal/sim"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:21501", "comma separated listen addresses, one simulated log store each; the first is the HAKeeper leader")
	advertise := flag.String("advertise", "", "comma separated advertised addresses (default: the listen addresses)")
	nonHA := flag.String("non-hakeeper", "", "comma separated indexes of log stores without a HAKeeper replica")
	lockListen := flag.String("lock-listen", "127.0.0.1:21511", "TN lock service listen address")
	queryListen := flag.String("query-listen", "127.0.0.1:21521", "first CN query service listen address; CN i uses port+i")
	control := flag.String("control", "127.0.0.1:21531", "HTTP control address, empty to disable")
	cns := flag.Int("cns", 3, "number of CN stores")
	cnUUIDs := flag.String("cn-uuids", "", "comma separated UUIDs of the CN stores (default: 30000000-...-<i>)")
	noTN := flag.Bool("no-tn", false, "start without a TN store")
	freeze := flag.Bool("freeze", false, "no background ticks or heartbeats (deterministic; drive time through /tick and /heartbeat)")
	evict := flag.Bool("evict", true, "remove expired CN stores as the genuine HAKeeper does")
	initState := flag.String("init-work-state", "", "InitWorkState of the CN heartbeats: working, draining, drained or empty")
	verbose := flag.Bool("v", false, "log RPC server messages")
	flag.Parse()

	lvl := "fatal"
	if *verbose {
		lvl = "debug"
	}
	logutil.SetupMOLogger(&logutil.LogConfig{Level: lvl, Format: "console", DisableStore: true})
	logger := logutil.GetGlobalLogger()
	sim.SetupRuntime("", logger)

	c := sim.NewCluster()
	c.Evict = *evict
	addrs := strings.Split(*listen, ",")
	adv := addrs
	if *advertise != "" {
		adv = strings.Split(*advertise, ",")
	}
	skip := map[int]bool{}
	for _, s := range strings.Split(*nonHA, ",") {
		if s != "" {
			n, err := strconv.Atoi(s)
			fatal(err)
			skip[n] = true
		}
	}
	for i, a := range addrs {
		l := &sim.LogStore{UUID: fmt.Sprintf("10000000-0000-0000-0000-%012d", i), ReplicaID: 131072 + uint64(i), Listen: a, Advertise: adv[i], IsHAKeeper: !skip[i]}
		c.Logs = append(c.Logs, l)
		if c.Leader == 0 && l.IsHAKeeper {
			c.Leader = l.ReplicaID
		}
	}
	if !*noTN {
		c.TN = pb.TNStoreHeartbeat{UUID: "20000000-0000-0000-0000-000000000000", ServiceAddress: "10.0.1.1:41010", Shards: []pb.TNShardInfo{{ShardID: 2, ReplicaID: 262160}}, TaskServiceCreated: true, LogtailServerAddress: "10.0.1.1:32003", LockServiceAddress: *lockListen, QueryAddress: "10.0.1.1:41013", ShardServiceAddress: "10.0.1.1:41014"}
	}
	c.Proxy = &pb.ProxyHeartbeat{UUID: "40000000-0000-0000-0000-000000000000", ListenAddress: "10.0.3.1:6009"}
	qh, qp, err := net.SplitHostPort(*queryListen)
	fatal(err)
	qport, _ := strconv.Atoi(qp)
	for i := 0; i < *cns; i++ {
		id := fmt.Sprintf("30000000-0000-0000-0000-%012d", i)
		if given := strings.Split(*cnUUIDs, ","); *cnUUIDs != "" {
			id = given[i]
		}
		qa := net.JoinHostPort(qh, strconv.Itoa(qport+i))
		c.AddCN(id, fmt.Sprintf("10.0.2.%d", i+1), 6001, qa, *initState)
		_, err := c.StartQueryServer(id, qa, logger)
		fatal(err)
	}
	for _, l := range c.Logs {
		_, err := c.StartLogServer(l, logger, false)
		fatal(err)
	}
	_, err = c.StartLockServer(*lockListen)
	fatal(err)
	c.Tick(10)
	c.Heartbeat()
	if !*freeze {
		go func() {
			for i := 0; ; i++ {
				time.Sleep(100 * time.Millisecond)
				c.Tick(1)
				if i%10 == 0 {
					c.Heartbeat()
				}
			}
		}()
	}
	if *control != "" {
		listener, err := net.Listen("tcp", *control)
		fatal(err)
		go func() { fatal(http.Serve(listener, controlMux(c, logger))) }()
	}
	fmt.Printf("ready hakeeper=%s lock=%s query=%s control=%s\n", *listen, *lockListen, *queryListen, *control)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM)
	<-ch
}

func controlMux(c *sim.Cluster, _ *zap.Logger) http.Handler {
	m := http.NewServeMux()
	ok := func(w http.ResponseWriter) { fmt.Fprintln(w, "ok") }
	m.HandleFunc("/state", func(w http.ResponseWriter, r *http.Request) {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		_ = e.Encode(c.State())
	})
	m.HandleFunc("/tick", func(w http.ResponseWriter, r *http.Request) { c.Tick(num(r, "n", 1)); ok(w) })
	m.HandleFunc("/heartbeat", func(w http.ResponseWriter, r *http.Request) { c.Heartbeat(); ok(w) })
	m.HandleFunc("/leader", func(w http.ResponseWriter, r *http.Request) {
		c.Lock(func() { c.Leader = uint64(num(r, "replica", 0)); c.Term++ })
		ok(w)
	})
	m.HandleFunc("/log", func(w http.ResponseWriter, r *http.Request) {
		c.Lock(func() {
			l := c.Logs[num(r, "i", 0)]
			l.Down = r.FormValue("down") == "1"
			if v := r.FormValue("hakeeper"); v != "" {
				l.IsHAKeeper = v == "1"
			}
			if r.Form.Has("advertise") {
				l.Advertise = r.FormValue("advertise")
			}
		})
		ok(w)
	})
	m.HandleFunc("/tn", func(w http.ResponseWriter, r *http.Request) {
		c.Lock(func() { c.TNDown = r.FormValue("down") == "1" })
		ok(w)
	})
	m.HandleFunc("/cn", func(w http.ResponseWriter, r *http.Request) {
		found := false
		c.Lock(func() {
			n, has := c.CNs[r.FormValue("uuid")]
			if !has {
				return
			}
			found = true
			set := func(k string, p *int) {
				if r.FormValue(k) != "" {
					*p = num(r, k, 0)
				}
			}
			if v := r.FormValue("down"); v != "" {
				n.Down = v == "1"
			}
			set("proxy_sessions", &n.Stats.ProxySessions)
			set("direct_sessions", &n.Stats.DirectSessions)
			set("sys_sessions", &n.Stats.SysSessions)
			set("lock_txns", &n.Stats.LockTxns)
			if r.FormValue("pipelines") != "" {
				n.Stats.Pipelines = int64(num(r, "pipelines", 0))
			}
			if r.FormValue("replicas") != "" {
				n.Stats.Replicas = int64(num(r, "replicas", 0))
			}
			if r.FormValue("lock_status") != "" {
				n.Stats.LockStatus = int32(num(r, "lock_status", 0))
			}
			if v := r.FormValue("lock_bound"); v != "" {
				n.Stats.LockBound = v == "1"
			}
		})
		if !found {
			http.Error(w, "no such cn", 404)
			return
		}
		ok(w)
	})
	m.HandleFunc("/fault", func(w http.ResponseWriter, r *http.Request) {
		method := r.FormValue("method")
		if method == "" {
			method = "*"
		}
		c.Lock(func() {
			if r.FormValue("clear") == "1" {
				c.Faults = map[string]*sim.Fault{}
				return
			}
			c.Faults[method] = &sim.Fault{Code: uint32(num(r, "code", 0)), Msg: r.FormValue("msg"), Count: num(r, "count", 1), Delay: time.Duration(num(r, "delay_ms", 0)) * time.Millisecond, Drop: r.FormValue("drop") == "1", Mute: r.FormValue("mute") == "1"}
		})
		ok(w)
	})
	return m
}

func num(r *http.Request, k string, d int) int {
	_ = r.ParseForm()
	if v, err := strconv.Atoi(r.FormValue(k)); err == nil {
		return v
	}
	return d
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fatal:", err)
		os.Exit(1)
	}
}
