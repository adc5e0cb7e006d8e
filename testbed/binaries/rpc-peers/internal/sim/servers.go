// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fagongzi/goetty/v2"
	"github.com/matrixorigin/matrixone/pkg/common/moerr"
	"github.com/matrixorigin/matrixone/pkg/common/morpc"
	"github.com/matrixorigin/matrixone/pkg/common/runtime"
	"github.com/matrixorigin/matrixone/pkg/defines"
	"github.com/matrixorigin/matrixone/pkg/logservice"
	"github.com/matrixorigin/matrixone/pkg/pb/lock"
	"github.com/matrixorigin/matrixone/pkg/pb/metadata"
	"github.com/matrixorigin/matrixone/pkg/pb/query"
	"github.com/matrixorigin/matrixone/pkg/pb/status"
	"github.com/matrixorigin/matrixone/pkg/queryservice"
	"github.com/matrixorigin/matrixone/pkg/txn/clock"
	"go.uber.org/zap"
)

// SetupRuntime installs a runtime for sid so that genuine components can log.
func SetupRuntime(sid string, logger *zap.Logger) {
	rt := runtime.NewRuntime(metadata.ServiceType_CN, sid, logger,
		runtime.WithClock(clock.NewHLCClock(func() int64 { return time.Now().UnixNano() }, 24*time.Hour)))
	rt.SetGlobalVariables(runtime.MOProtocolVersion, defines.MORPCLatestVersion)
	runtime.SetupServiceBasedRuntime(sid, rt)
}

// StartLogServer serves one log store with the genuine morpc server and codec.
func (c *Cluster) StartLogServer(l *LogStore, logger *zap.Logger, compress bool) (morpc.RPCServer, error) {
	codec := morpc.NewMessageCodec("", func() morpc.Message { return &logservice.RPCRequest{} },
		morpc.WithCodecPayloadCopyBufferSize(16*1024),
		morpc.WithCodecEnableChecksum(),
		morpc.WithCodecMaxBodySize(100<<20))
	s, err := morpc.NewRPCServer("logservice-server", l.Listen, codec,
		morpc.WithServerLogger(logger),
		morpc.WithServerGoettyOptions(goetty.WithSessionReleaseMsgFunc(func(any) {})))
	if err != nil {
		return nil, err
	}
	s.RegisterRequestHandler(func(ctx context.Context, m morpc.RPCMessage, _ uint64, cs morpc.ClientSession) error {
		r, ok := m.Message.(*logservice.RPCRequest)
		if !ok {
			return errors.New("unexpected message")
		}
		resp := &logservice.RPCResponse{}
		if f := c.takeFault(r.Method.String()); f != nil {
			if f.Delay > 0 {
				time.Sleep(f.Delay)
			}
			if f.Drop {
				return errors.New("scripted connection drop")
			}
			if f.Mute {
				return nil
			}
			if f.Code != 0 {
				resp.Response.RequestID, resp.Response.Method = r.RequestID, r.Method
				resp.Response.ErrorCode, resp.Response.ErrorMessage = f.Code, f.Msg
				return cs.Write(ctx, resp)
			}
		}
		resp.Response = c.Handle(ctx, l, r.Request)
		return cs.Write(ctx, resp)
	})
	return s, s.Start()
}

// StartLockServer serves the operator-facing part of the TN lock-table allocator.
func (c *Cluster) StartLockServer(addr string) (morpc.RPCServer, error) {
	cfg := morpc.Config{}
	cfg.Adjust()
	s, err := cfg.NewServer("", "lock-server", addr, func() morpc.Message { return &lock.Request{} }, func(morpc.Message) {})
	if err != nil {
		return nil, err
	}
	s.RegisterRequestHandler(func(ctx context.Context, m morpc.RPCMessage, _ uint64, cs morpc.ClientSession) error {
		if ctx.Err() != nil { // the genuine lock server drops elapsed requests silently
			return nil
		}
		req := m.Message.(*lock.Request)
		resp := &lock.Response{RequestID: req.RequestID, Method: req.Method}
		c.mu.Lock()
		switch req.Method {
		case lock.Method_SetRestartService:
			if n, ok := c.CNs[req.SetRestartService.ServiceID]; ok && n.Stats.LockBound {
				n.Stats.LockStatus = int32(lock.Status_ServiceLockWaiting)
			}
			resp.SetRestartService.OK = true
		case lock.Method_CanRestartService:
			n, ok := c.CNs[req.CanRestartService.ServiceID]
			resp.CanRestartService.OK = !ok || !n.Stats.LockBound || n.Stats.LockStatus == int32(lock.Status_ServiceCanRestart)
		case lock.Method_RemainTxnInService:
			if n, ok := c.CNs[req.RemainTxnInService.ServiceID]; ok && n.Stats.LockBound {
				k := 0
				if n.Stats.LockStatus != int32(lock.Status_ServiceLockEnable) {
					k = n.Stats.LockTxns
				}
				if k == 0 && n.Stats.LockStatus != int32(lock.Status_ServiceCanRestart) {
					k = -1
				}
				resp.RemainTxnInService.RemainTxn = int32(k)
			}
		default:
			resp.WrapError(moerr.NewNotSupportedNoCtxf("method [%s], from %s, current %s", req.Method.String(), cs.RemoteAddress(), addr))
		}
		c.mu.Unlock()
		return cs.AsyncWrite(resp)
	})
	return s, s.Start()
}

// StartQueryServer serves one CN's query service through the genuine queryservice package.
func (c *Cluster) StartQueryServer(uuid, addr string, logger *zap.Logger) (queryservice.QueryService, error) {
	SetupRuntime(uuid, logger)
	qs, err := queryservice.NewQueryService(uuid, addr, morpc.Config{})
	if err != nil {
		return nil, err
	}
	started := time.Date(2024, 10, 8, 7, 12, 44, 500000000, time.UTC)
	qs.AddHandleFunc(query.CmdMethod_ShowProcessList, func(ctx context.Context, req *query.Request, resp *query.Response, _ *morpc.Buffer) error {
		if req.ShowProcessListRequest == nil {
			return moerr.NewInternalError(ctx, "bad request")
		}
		st := c.StatsOf(uuid)
		resp.ShowProcessListResponse = &query.ShowProcessListResponse{}
		id := uint32(0)
		add := func(n int, account string, proxy bool) {
			for i := 0; i < n; i++ {
				id++
				s := &status.Session{NodeID: uuid, ConnID: id, SessionID: fmt.Sprintf("sess-%d", id), Account: account, User: "u", Host: "10.0.0.9:6001", DB: "db", SessionStart: started, Command: "Sleep", FromProxy: proxy}
				if proxy {
					s.ProxyHost = "10.0.0.7:6009"
				}
				if req.ShowProcessListRequest.SysTenant || req.ShowProcessListRequest.Tenant == account {
					resp.ShowProcessListResponse.Sessions = append(resp.ShowProcessListResponse.Sessions, s)
				}
			}
		}
		add(st.SysSessions, "sys", false)
		add(st.DirectSessions, "acc1", false)
		add(st.ProxySessions, "acc1", true)
		return nil
	}, false)
	qs.AddHandleFunc(query.CmdMethod_GetPipelineInfo, func(ctx context.Context, req *query.Request, resp *query.Response, _ *morpc.Buffer) error {
		if req.GetPipelineInfoRequest == nil {
			return moerr.NewInternalError(ctx, "bad request")
		}
		resp.GetPipelineInfoResponse = &query.GetPipelineInfoResponse{Count: c.StatsOf(uuid).Pipelines}
		return nil
	}, false)
	qs.AddHandleFunc(query.CmdMethod_GetReplicaCount, func(ctx context.Context, req *query.Request, resp *query.Response, _ *morpc.Buffer) error {
		resp.GetReplicaCount.Count = c.StatsOf(uuid).Replicas
		return nil
	}, false)
	return qs, qs.Start()
}
