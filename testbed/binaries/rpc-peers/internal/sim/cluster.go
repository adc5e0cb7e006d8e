// SPDX-License-Identifier: Apache-2.0

// Package sim is a HAKeeper in memory: the database's own replicated state machine behind its own
// RPC server, with faults on demand.
package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4"
	dsm "github.com/lni/dragonboat/v4/statemachine"
	"github.com/matrixorigin/matrixone/pkg/common/moerr"
	"github.com/matrixorigin/matrixone/pkg/hakeeper"
	pb "github.com/matrixorigin/matrixone/pkg/pb/logservice"
	"github.com/matrixorigin/matrixone/pkg/pb/metadata"
)

// LogStore describes one simulated log service node.
type LogStore struct {
	UUID       string
	ReplicaID  uint64
	Listen     string // where the RPC server listens
	Advertise  string // what GET_SHARD_INFO and heartbeats report
	IsHAKeeper bool
	Down       bool // heartbeats stop
}

// CN describes one simulated compute node.
type CN struct {
	UUID  string
	Hb    pb.CNStoreHeartbeat
	Down  bool
	Stats CNStats
}

// CNStats feed the fake query service and lock allocator.
type CNStats struct {
	ProxySessions  int   // sessions with FromProxy=true, account "acc1"
	DirectSessions int   // sessions with FromProxy=false, account "acc1"
	SysSessions    int   // sessions with FromProxy=false, account "sys"
	Pipelines      int64 // GetPipelineInfo count
	Replicas       int64 // GetReplicaCount count
	LockBound      bool  // allocator knows the CN (it holds at least one bind)
	LockStatus     int32 // lock.Status value held by the allocator
	LockTxns       int   // transactions still running on the CN
}

// Fault is one scripted failure for a log service method.
type Fault struct {
	Code  uint32
	Msg   string
	Count int           // how many requests are affected, -1 = forever
	Delay time.Duration // sleep before answering
	Drop  bool          // close the connection instead of answering
	Mute  bool          // never answer
}

// Cluster is the whole simulated control plane.
type Cluster struct {
	mu     sync.Mutex
	sm     dsm.IStateMachine
	index  uint64
	Cfg    hakeeper.Config
	Logs   []*LogStore
	CNs    map[string]*CN
	TN     pb.TNStoreHeartbeat
	TNDown bool
	Proxy  *pb.ProxyHeartbeat
	Leader uint64 // replica ID of the HAKeeper leader, 0 = none
	Epoch  uint64
	Term   uint64
	Faults map[string]*Fault
	Evict  bool
}

// NewCluster bootstraps the genuine state machine to HAKeeperRunning.
func NewCluster() *Cluster {
	c := &Cluster{
		sm:     hakeeper.NewStateMachine(hakeeper.DefaultHAKeeperShardID, 1),
		CNs:    map[string]*CN{},
		Faults: map[string]*Fault{},
		Epoch:  3,
		Term:   2,
		Evict:  true,
	}
	c.Cfg.Fill()
	c.update(hakeeper.GetInitialClusterRequestCmd(1, 1, 3, 0, nil, nil))
	c.update(hakeeper.GetUpdateCommandsCmd(1, []pb.ScheduleCommand{{UUID: "boot", Bootstrapping: true}}))
	c.update(hakeeper.GetSetStateCmd(pb.HAKeeperRunning))
	c.update(hakeeper.GetTaskTableUserCmd(pb.TaskTableUser{Username: "mo_task_user", Password: "not-a-secret"}))
	return c
}

func (c *Cluster) update(cmd []byte) dsm.Result {
	c.index++
	r, err := c.sm.Update(dsm.Entry{Index: c.index, Cmd: cmd})
	if err != nil {
		panic(err)
	}
	return r
}

// Tick advances HAKeeper time by n ticks (10 ticks = 1 s with the defaults).
func (c *Cluster) Tick(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < n; i++ {
		c.update(hakeeper.GetTickCmd())
	}
	if c.Evict {
		st := c.state()
		for id, s := range st.CNState.Stores {
			if c.Cfg.CNStoreExpired(s.Tick, st.Tick) {
				c.update(hakeeper.GetDeleteCNStoreCmd(pb.DeleteCNStore{StoreID: id}))
			}
		}
	}
}

// Heartbeat sends one round of heartbeats for everything that is not down.
func (c *Cluster) Heartbeat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	members := map[uint64]string{}
	for _, l := range c.Logs {
		members[l.ReplicaID] = l.UUID
	}
	for _, l := range c.Logs {
		if l.Down {
			continue
		}
		hb := pb.LogStoreHeartbeat{UUID: l.UUID, RaftAddress: "10.0.0.1:32000", ServiceAddress: l.Advertise, GossipAddress: "10.0.0.1:32002"}
		if l.IsHAKeeper {
			hb.Replicas = append(hb.Replicas, pb.LogReplicaInfo{LogShardInfo: pb.LogShardInfo{ShardID: 0, Replicas: members, Epoch: c.Epoch, LeaderID: c.Leader, Term: c.Term}, ReplicaID: l.ReplicaID})
		}
		lm := map[uint64]string{}
		for i, x := range c.Logs {
			lm[262145+uint64(i)] = x.UUID
		}
		for i, x := range c.Logs {
			if x == l {
				hb.Replicas = append(hb.Replicas, pb.LogReplicaInfo{LogShardInfo: pb.LogShardInfo{ShardID: 1, Replicas: lm, Epoch: 5, LeaderID: 262145, Term: 2}, ReplicaID: 262145 + uint64(i)})
			}
		}
		c.update(hakeeper.GetLogStoreHeartbeatCmd(must(hb.Marshal())))
	}
	if !c.TNDown && c.TN.UUID != "" {
		c.update(hakeeper.GetTNStoreHeartbeatCmd(must(c.TN.Marshal())))
	}
	for _, n := range c.CNs {
		if !n.Down {
			c.update(hakeeper.GetCNStoreHeartbeatCmd(must(n.Hb.Marshal())))
		}
		// the CN's own lock-service keep-alive
		if n.Stats.LockBound && n.Stats.LockStatus == 1 && n.Stats.LockTxns == 0 {
			n.Stats.LockStatus = 3
		}
	}
	if c.Proxy != nil {
		c.update(hakeeper.GetProxyHeartbeatCmd(must(c.Proxy.Marshal())))
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func (c *Cluster) state() *pb.CheckerState {
	v, err := c.sm.Lookup(&hakeeper.StateQuery{})
	if err != nil {
		panic(err)
	}
	return v.(*pb.CheckerState)
}

// State returns a deep copy of the checker state.
func (c *Cluster) State() *pb.CheckerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state()
}

// Lock runs fn with the cluster lock held.
func (c *Cluster) Lock(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn()
}

// StatsOf returns a copy of a CN's scripted statistics.
func (c *Cluster) StatsOf(uuid string) CNStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.CNs[uuid]; ok {
		return n.Stats
	}
	return CNStats{}
}

func (c *Cluster) takeFault(method string) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range []string{method, "*"} {
		f := c.Faults[k]
		if f == nil || f.Count == 0 {
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		cp := *f
		return &cp
	}
	return nil
}

func errCode(err error) (uint32, string) {
	switch {
	case err == nil:
		return 0, ""
	case errors.Is(err, dragonboat.ErrShardNotFound):
		return uint32(moerr.ErrDragonboatShardNotFound), ""
	case errors.Is(err, dragonboat.ErrTimeout):
		return uint32(moerr.ErrDragonboatTimeout), ""
	}
	var me *moerr.Error
	if errors.As(err, &me) {
		return uint32(me.ErrorCode()), me.Error()
	}
	return uint32(moerr.ErrDragonboatOtherSystemError), err.Error()
}

// Handle answers one log service request as node self would.
func (c *Cluster) Handle(ctx context.Context, self *LogStore, req pb.Request) pb.Response {
	resp := pb.Response{RequestID: req.RequestID, Method: req.Method}
	fail := func(err error) pb.Response {
		resp.ErrorCode, resp.ErrorMessage = errCode(err)
		return resp
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	exists := func(id string) error {
		if _, ok := c.state().CNState.Stores[id]; !ok {
			return moerr.NewInternalErrorf(ctx, "CN [%s] does not exist", id)
		}
		return nil
	}
	needHAKeeper := func() error {
		if !self.IsHAKeeper {
			return moerr.NewNoHAKeeper(ctx)
		}
		return nil
	}
	switch req.Method {
	case pb.CHECK_HAKEEPER:
		resp.IsHAKeeper = self.IsHAKeeper
	case pb.GET_SHARD_INFO:
		if req.LogRequest.ShardID != 0 && req.LogRequest.ShardID != 1 {
			return fail(dragonboat.ErrShardNotFound)
		}
		si := &pb.ShardInfoQueryResult{ShardID: req.LogRequest.ShardID, Epoch: c.Epoch, LeaderID: c.Leader, Term: c.Term, Replicas: map[uint64]pb.ReplicaInfo{}}
		for i, l := range c.Logs {
			id := l.ReplicaID
			if req.LogRequest.ShardID == 1 {
				id = 262145 + uint64(i)
			}
			si.Replicas[id] = pb.ReplicaInfo{UUID: l.UUID, ServiceAddress: l.Advertise}
		}
		if req.LogRequest.ShardID == 1 {
			si.LeaderID = 262145
		}
		resp.ShardInfo = si
	case pb.GET_CLUSTER_DETAILS:
		if err := needHAKeeper(); err != nil {
			return fail(err)
		}
		v, err := c.sm.Lookup(&hakeeper.ClusterDetailsQuery{Cfg: c.Cfg})
		if err != nil {
			return fail(err)
		}
		resp.ClusterDetails = v.(*pb.ClusterDetails)
	case pb.GET_CLUSTER_STATE:
		if !self.IsHAKeeper {
			// the genuine service does not translate this one
			return fail(dragonboat.ErrShardNotFound)
		}
		resp.CheckerState = c.state()
	case pb.UPDATE_CN_LABEL:
		if !self.IsHAKeeper {
			return fail(dragonboat.ErrShardNotFound)
		}
		if err := exists(req.CNStoreLabel.UUID); err != nil {
			return fail(err)
		}
		c.update(hakeeper.GetUpdateCNLabelCmd(*req.CNStoreLabel))
	case pb.UPDATE_CN_WORK_STATE:
		if !self.IsHAKeeper {
			return fail(dragonboat.ErrShardNotFound)
		}
		if err := exists(req.CNWorkState.UUID); err != nil {
			return fail(err)
		}
		c.update(hakeeper.GetUpdateCNWorkStateCmd(*req.CNWorkState))
	case pb.PATCH_CN_STORE:
		if !self.IsHAKeeper {
			return fail(dragonboat.ErrShardNotFound)
		}
		if err := exists(req.CNStateLabel.UUID); err != nil {
			return fail(err)
		}
		c.update(hakeeper.GetPatchCNStoreCmd(*req.CNStateLabel))
	case pb.DELETE_CN_STORE:
		if !self.IsHAKeeper {
			return fail(dragonboat.ErrShardNotFound)
		}
		if exists(req.DeleteCNStore.StoreID) == nil {
			c.update(hakeeper.GetDeleteCNStoreCmd(*req.DeleteCNStore))
		}
	case pb.UPDATE_NON_VOTING_REPLICA_NUM:
		if err := needHAKeeper(); err != nil {
			return fail(err)
		}
		c.update(hakeeper.GetUpdateNonVotingReplicaNumCmd(req.NonVotingReplicaNum))
	case pb.UPDATE_NON_VOTING_LOCALITY:
		if err := needHAKeeper(); err != nil {
			return fail(err)
		}
		c.update(hakeeper.GetUpdateNonVotingLocality(*req.NonVotingLocality))
	case pb.CN_ALLOCATE_ID:
		r := c.update(hakeeper.GetAllocateIDCmd(*req.CNAllocateID))
		resp.AllocateID = &pb.AllocateIDResponse{FirstID: r.Value}
	case pb.CN_HEARTBEAT:
		r := c.update(hakeeper.GetCNStoreHeartbeatCmd(must(req.CNHeartbeat.Marshal())))
		resp.CommandBatch = &pb.CommandBatch{}
		_ = resp.CommandBatch.Unmarshal(r.Data)
	case pb.TN_HEARTBEAT:
		r := c.update(hakeeper.GetTNStoreHeartbeatCmd(must(req.TNHeartbeat.Marshal())))
		resp.CommandBatch = &pb.CommandBatch{}
		_ = resp.CommandBatch.Unmarshal(r.Data)
	case pb.LOG_HEARTBEAT:
		r := c.update(hakeeper.GetLogStoreHeartbeatCmd(must(req.LogHeartbeat.Marshal())))
		resp.CommandBatch = &pb.CommandBatch{}
		_ = resp.CommandBatch.Unmarshal(r.Data)
	case pb.PROXY_HEARTBEAT:
		r := c.update(hakeeper.GetProxyHeartbeatCmd(must(req.ProxyHeartbeat.Marshal())))
		resp.CommandBatch = &pb.CommandBatch{}
		_ = resp.CommandBatch.Unmarshal(r.Data)
	case pb.GET_LEADER_ID:
		resp.LogResponse.LeaderID = c.Leader
	default:
		return fail(moerr.NewNotSupported(ctx, fmt.Sprintf("logservice method type %d", req.Method)))
	}
	return resp
}

// AddCN registers a simulated CN; host:base..base+4 become its service addresses.
func (c *Cluster) AddCN(uuid, host string, sqlPort int, queryAddr string, initState string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.CNs[uuid] = &CN{UUID: uuid, Hb: pb.CNStoreHeartbeat{
		UUID:                uuid,
		ServiceAddress:      host + ":6002",
		LockServiceAddress:  host + ":6003",
		SQLAddress:          fmt.Sprintf("%s:%d", host, sqlPort),
		QueryAddress:        queryAddr,
		ShardServiceAddress: host + ":6006",
		GossipAddress:       host + ":6005",
		GossipJoined:        true,
		Role:                metadata.CNRole_TP,
		TaskServiceCreated:  true,
		InitWorkState:       initState,
		Resource:            pb.Resource{CPUTotal: 4, CPUAvailable: 3.5, MemTotal: 16 << 30, MemAvailable: 8 << 30},
		CommitID:            "fa8af5c4d",
		ConfigData: &pb.ConfigData{Content: map[string]*pb.ConfigItem{
			"cn.role":                    {Name: "cn.role", CurrentValue: "TP", DefaultValue: "TP", Internal: "basic"},
			"config.shardservice.enable": {Name: "config.shardservice.enable", CurrentValue: "true", DefaultValue: "false", Internal: "advanced"},
		}},
	}, Stats: CNStats{LockBound: true}}
}
