"""Which scenario shows a word best; `load` opens it. Made by `python -m tests.shown`."""

# fmt: off
_BY_SCENARIO: dict[str, str] = {
    "atomic/add":
        "field compare",
    "atomic/key":
        "IBV_ACCESS_REMOTE_ATOMIC;refusal rkey",
    "bringup/alternate-path":
        "IBV_QPS_RTR;IBV_QPS_RTS;min_rnr_timer;rule alt-path",
    "bringup/by-hand":
        "field max_recv_wr;IBV_EVENT_COMM_EST;record CQE_POLLED",
    "bringup/guide-by-the-letter-raw":
        "IBV_QPT_RAW_PACKET",
    "bringup/guide-by-the-letter-rts":
        "modify_qp RTR RTS",
    "bringup/illegal-transitions":
        "modify_qp INIT ERR;modify_qp ERR RESET;rule transition;rule ah-global;verb modify_qp",
    "bringup/init-attributes":
        "IBV_QPS_INIT;rule attr-missing;rule attr-surplus",
    "bringup/new-and-empty":
        "IBV_QPS_RESET;modify_qp INIT RESET;rule recv-state;record RECV_POSTED;"
        "record QUEUE_DISCARDED",
    "bringup/no-receive-before-rtr":
        "refusal no-receive;record REQUEST_REFUSED;record TIMER_ARMED",
    "bringup/only-the-mask-counts":
        "qp_state;field attr_mask",
    "bringup/other-moves":
        "modify_qp SQD ERR;cur_qp_state;en_sqd_async_notify;rule cur-state",
    "bringup/path-mtu":
        "modify_qp INIT RTR;path_mtu;record LINK_SET",
    "bringup/pkey-index":
        "modify_qp RESET INIT;rule attr-range;record STATE_CHANGED;record ATTRIBUTES_SET;"
        "verb alloc_pd",
    "bringup/posting-too-early":
        "field wr_id;field opcode;field sg;rule send-state;rule queue-full",
    "bringup/psn-agreement":
        "rq_psn;sq_psn",
    "bringup/reads-served":
        "max_dest_rd_atomic;refusal too-deep",
    "bringup/reads-under-way":
        "max_rd_atomic;wire RDMA_READ_RESPONSE_ONLY",
    "bringup/rts-attributes":
        "retry_cnt;rnr_retry",
    "bringup/wrong-number":
        "modify_qp RTS ERR;dest_qp_num;record SEND_POSTED;record WQE_STARTED;"
        "record WQE_COMPLETED;record PACKET_SENT;record PACKET_DROPPED;record MEMORY_READ;"
        "record CQE_ADDED;record WENT_BACK;record TIMER_FIRED",
    "cq/arm-poll-race":
        "field num_entries;rule cq-event-none;record CQ_EVENTS_ACKED;verb poll_cq;"
        "verb req_notify_cq",
    "cq/channel-ack":
        "field nevents;EAGAIN;rule cq-events-ack;rule cq-events-unacked;verb destroy_cq;"
        "verb ack_cq_events;verb destroy_comp_channel",
    "cq/extended-poll":
        "IBV_WC_EX_WITH_BYTE_LEN;IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;ENOENT;rule poll-empty;"
        "rule poll-open;rule crash-wc-read;record POLL_ADVANCED;verb start_poll;verb next_poll;"
        "verb end_poll",
    "cq/overrun-recovery":
        "IBV_EVENT_CQ_ERR;rule async-unacked;record ASYNC_ACKED;verb get_async_event;"
        "verb ack_async_event",
    "cq/solicited":
        "field solicited_only",
    "device/limits":
        "rule limit;rule port-num;rule qp-parts",
    "device/partitions":
        "pkey_index;IBV_EVENT_PKEY_CHANGE;record PKEY_SET",
    "err/bad-response":
        "IBV_WC_BAD_RESP_ERR;record PACKET_INJECTED",
    "err/cq-overrun":
        "record CQ_OVERRUN",
    "err/immediate-by-a-bad-key":
        "IBV_WC_WR_FLUSH_ERR;IBV_WC_LOC_ACCESS_ERR;profile mlx5",
    "err/local-protection":
        "IBV_WC_LOC_PROT_ERR;IBV_WC_REM_OP_ERR",
    "err/receive-too-short":
        "IBV_WC_LOC_LEN_ERR;IBV_WC_REM_INV_REQ_ERR",
    "err/remote-access":
        "IBV_WC_REM_ACCESS_ERR;syndrome NAK_REMOTE_ACCESS",
    "err/remote-invalid-request":
        "IBV_WC_SUCCESS",
    "err/retry-exceeded":
        "IBV_WC_RETRY_EXC_ERR;wire RDMA_WRITE_ONLY;drop not-ready",
    "err/rnr-retry-exceeded":
        "IBV_QPS_ERR;IBV_WC_RNR_RETRY_EXC_ERR",
    "flags/inline-limits":
        "field flags;field max_send_wr",
    "flags/inline-on-the-wire":
        "field wc_flags",
    "flags/inline-without-a-key":
        "field addr;field lkey",
    "flags/signaled":
        "field sq_sig_all",
    "flags/solicited":
        "IBV_SEND_SOLICITED",
    "infiniband/bring-up-by-lid":
        "concept infiniband port;ah_attr;field dlid;rule ah-dlid;verb query_port",
    "infiniband/datagrams-by-lid":
        "IBV_WC_GRH;field is_global;field sl;rule ah-mlid",
    "infiniband/ethernet-only":
        "field dst_mac;EOPNOTSUPP;rule raw-ethernet;rule mcast-lid;record LINK_LAYER_SET;"
        "verb create_flow;verb port",
    "infiniband/migration-refused":
        "path_mig_state;IBV_EVENT_PATH_MIG_ERR;record MIGRATION_CHANGED",
    "infiniband/no-alternate":
        "verb fault",
    "infiniband/path-cut":
        "alt_ah_attr;IBV_MIG_MIGRATED;IBV_MIG_ARMED;field src_path_bits;IBV_EVENT_PATH_MIG",
    "infiniband/rearm":
        "alt_pkey_index;alt_port_num;alt_timeout;IBV_MIG_REARM;rule mig-state",
    "keys/address-and-key":
        "field remote_addr",
    "loss/corrupted":
        "record PACKET_HARMED",
    "loss/lost-packet":
        "wire SEND_MIDDLE;wire SEND_LAST",
    "lumina/congestion-mark":
        "record PACKET_MARKED",
    "lumina/duplicate-atomic":
        "wire ATOMIC_ACKNOWLEDGE",
    "lumina/duplicate-write":
        "wire ACKNOWLEDGE;drop ghost;record PACKET_COPIED",
    "lumina/forged":
        "syndrome ACK;verb inject",
    "lumina/lost-nak":
        "wire RDMA_WRITE_FIRST",
    "lumina/lost-read-response":
        "wire RDMA_READ_REQUEST;wire RDMA_READ_RESPONSE_FIRST;wire RDMA_READ_RESPONSE_MIDDLE;"
        "wire RDMA_READ_RESPONSE_LAST",
    "lumina/reordered":
        "refusal sequence-gap;record PACKET_HELD;record PACKET_RELEASED",
    "lumina/two-gaps":
        "wire RDMA_WRITE_LAST",
    "mr/another-address":
        "IBV_ACCESS_LOCAL_WRITE;IBV_ACCESS_ZERO_BASED;field length;field access;field hca_va;"
        "rule mr-iova-offset;verb reg_mr_iova",
    "mw/bind-refused":
        "IBV_ACCESS_MW_BIND;EBUSY;rule mr-window-bound;record WINDOW_INVALIDATED",
    "mw/by-functions":
        "field wr_flags;rule setter-data;verb wr_send_inv;verb wr_local_inv;verb wr_bind_mw",
    "mw/invalidate-a-region":
        "refusal invalidate",
    "mw/invalidated-by-another-qp":
        "IBV_WR_LOCAL_INV;IBV_WC_LOCAL_INV",
    "mw/next-key":
        "IBV_WR_BIND_MW;IBV_MW_TYPE_2;field bind_access",
    "mw/send-with-invalidate":
        "IBV_WC_WITH_INV;wire SEND_ONLY_WITH_INVALIDATE",
    "mw/wished-key":
        "field mw_rkey",
    "onesided/longer-than-the-port":
        "rule message-length",
    "pitfalls/datagram-without-address":
        "field remote_qpn;field remote_qkey;rule crash-ah;rule crash-ah-pointer",
    "pitfalls/inline":
        "field qp_type;field send_cq;field recv_cq;field max_inline_data;rule crash-inline;"
        "verb create_qp",
    "pitfalls/inline-for-free":
        "profile rxe",
    "pitfalls/receives-and-bad-wr":
        "verb post_recv",
    "pitfalls/uncleared-struct":
        "field rest;rule send-flags",
    "posting/bad-request-in-a-list":
        "IBV_WC_RDMA_WRITE",
    "posting/what-the-call-says":
        "rule use-after-destroy;rule opcode-unknown;rule send-sges;verb post_send",
    "programs/ping-pong":
        "verb program",
    "programs/wrong-cq":
        "record PROGRAM_FAILED",
    "raw/checksums":
        "IBV_SEND_IP_CSUM;IBV_WC_IP_CSUM_OK",
    "raw/frames":
        "drop no-flow;verb destroy_flow",
    "raw/sniffer":
        "flow type SNIFFER",
    "raw/tso":
        "IBV_WR_TSO;IBV_WC_TSO;field dst_port;rule tso-headers",
    "raw/tso-by-function":
        "field hdr_addr;field mss;verb wr_send_tso",
    "rc/atomic-write":
        "IBV_WR_FLUSH;IBV_WR_ATOMIC_WRITE;IBV_ACCESS_FLUSH_GLOBAL;IBV_WC_FLUSH;"
        "IBV_WC_ATOMIC_WRITE;IBV_FLUSH_GLOBAL;field flush_type;wire FLUSH;wire ATOMIC_WRITE;"
        "refusal unaligned;record MEMORY_FLUSHED",
    "rc/compare-and-swap":
        "IBV_WC_COMP_SWAP;wire COMPARE_SWAP",
    "rc/fence":
        "IBV_SEND_FENCE",
    "rc/fetch-and-add":
        "IBV_WC_FETCH_ADD;field add;wire FETCH_ADD",
    "rc/rdma-read":
        "verb fill",
    "rc/rdma-write":
        "IBV_QPT_RC;IBV_WR_RDMA_WRITE",
    "rc/rdma-write-with-imm":
        "IBV_WR_RDMA_WRITE_WITH_IMM",
    "rc/send-with-imm":
        "wire SEND_ONLY_WITH_IMMEDIATE",
    "real/perftest-12":
        "verb stop",
    "real/perftest-44":
        "field index;rule ah-dgid;verb query_gid",
    "real/ucx-2934":
        "record FAULT_CLEARED",
    "seeds/compare-and-swap":
        "field compare_add;field swap",
    "seeds/rdma-read":
        "IBV_WR_RDMA_READ",
    "seeds/rdma-write-with-imm":
        "IBV_WC_RECV_RDMA_WITH_IMM",
    "seeds/send":
        "IBV_WR_SEND;IBV_WC_SEND",
    "seeds/send-of-nothing":
        "record RECV_TAKEN",
    "sge/fields-that-count":
        "field imm_data",
    "sge/hands-off":
        "wire SEND_FIRST",
    "sge/how-many-pieces":
        "field max_send_sge",
    "srq/broken":
        "IBV_EVENT_SRQ_ERR;rule srq-error;record SRQ_FAILED",
    "srq/counting":
        "field max_wr;rule srq-small;record SRQ_FREED;record SRQ_SET",
    "srq/end-of-a-queue-pair":
        "IBV_EVENT_QP_LAST_WQE_REACHED",
    "srq/limit":
        "field srq_limit;IBV_EVENT_SRQ_LIMIT_REACHED;rule srq-limit;verb modify_srq",
    "srq/mistakes-of-c":
        "field next;verb post_srq_recv",
    "srq/no-own-queue":
        "rule in-use;rule recv-shared;verb create_srq;verb destroy_srq",
    "srq/posting":
        "field max_sge;rule srq-sges;record SRQ_POSTED",
    "srq/states":
        "field cqe;verb create_cq",
    "time/rnr-then-receive":
        "wire SEND_ONLY",
    "time/there-and-back":
        "wire RDMA_WRITE_MIDDLE;syndrome NAK_SEQUENCE;drop sequence-gap",
    "uc/lost-packet":
        "IBV_QPT_UC",
    "uc/operations":
        "rule send-flags-type",
    "ud/address-handle":
        "verb destroy_ah",
    "ud/bring-up":
        "IBV_QPT_UD;qkey;drop qkey",
    "ud/multicast":
        "record GROUP_LEFT;verb detach_mcast",
    "ud/send-queue-error":
        "IBV_QPS_SQE;modify_qp SQE RTS",
    "ud/sends-only":
        "rule opcode-type",
    "ud/short-receive":
        "profile strict",
    "waiting/never-posted":
        "rule inline-length",
    "waiting/no-timer":
        "record PACKET_RECEIVED;record MEMORY_WRITTEN",
    "waiting/not-listening":
        "modify_qp SQD RESET",
    "waiting/slow-receiver":
        "syndrome RNR_NAK",
    "why/ack-delayed-lost":
        "wire RDMA_WRITE_LAST_WITH_IMMEDIATE",
    "why/beyond-device":
        "field max_recv_sge;EINVAL;rule qp-cap;record CALLED;record REFUSED;record CREATED",
    "why/beyond-device-together":
        "ENOMEM;rule qp-memory;verb query_device",
    "why/bring-up-attr-port":
        "field sgid_index;field hop_limit;rule ah-port",
    "why/cq-not-armed":
        "verb get_cq_event",
    "why/cq-overrun":
        "refusal cq-overrun",
    "why/dereg-early-waiting":
        "record DESTROYED;verb dereg_mr",
    "why/error-field-read":
        "record POLL_STARTED;verb create_cq_ex;verb wc_read",
    "why/fence-wait":
        "record PACKET_DELAYED",
    "why/hop-limit-connection":
        "port_num",
    "why/inline-opcode":
        "IBV_SEND_INLINE;rule inline-opcode",
    "why/loc-prot-local-write":
        "verb write",
    "why/loc-prot-pd":
        "modify_qp RTS SQE",
    "why/loc-prot-seam":
        "verb reg_mr",
    "why/loc-qp-op-destroyed":
        "field target",
    "why/mcast":
        "verb attach_mcast",
    "why/mcast-other-group":
        "drop no-group;record GROUP_JOINED",
    "why/memlock":
        "rule mr-memlock",
    "why/missing-setter":
        "rule setter-missing;record NEXT_WR_SET;record WR_BUILT;record WR_FILLED;verb wr_send;"
        "verb wr_complete",
    "why/missing-setter-xrc":
        "verb wr_send_imm",
    "why/mw-bind":
        "IBV_WC_MW_BIND_ERR;record WINDOW_REFUSED",
    "why/mw-bind-bound":
        "IBV_WC_BIND_MW",
    "why/mw-bind-range":
        "IBV_MW_TYPE_1;field type;record WINDOW_BOUND;verb alloc_mw;verb bind_mw",
    "why/mw-bind-right":
        "IBV_ACCESS_REMOTE_READ",
    "why/no-channel":
        "record CQ_EVENT_RAISED;verb create_comp_channel",
    "why/no-grh-ah":
        "verb create_ah",
    "why/peer-mtu":
        "refusal length",
    "why/peer-port":
        "IBV_EVENT_PORT_ERR;drop port-down",
    "why/peer-state":
        "wire RDMA_WRITE_ONLY_WITH_IMMEDIATE",
    "why/peer-type":
        "drop wrong-type",
    "why/pkey":
        "drop pkey;verb pkey",
    "why/port-not-active":
        "record PORT_CHANGED",
    "why/port-not-active-late":
        "IBV_EVENT_PORT_ACTIVE;verb link",
    "why/qp-err-flush-rxe":
        "record SLOTS_FREED",
    "why/read-before-complete":
        "record PROGRAM_DONE",
    "why/region-aborted":
        "field buf",
    "why/region-aborted-abort":
        "verb wr_abort",
    "why/rem-access-range":
        "IBV_EVENT_QP_ACCESS_ERR",
    "why/rem-inv-req":
        "IBV_ACCESS_REMOTE_WRITE;qp_access_flags;IBV_EVENT_QP_REQ_ERR;refusal not-enabled",
    "why/rem-inv-req-alignment":
        "IBV_WR_ATOMIC_CMP_AND_SWP;rule atomic-length;rule atomic-address",
    "why/rem-inv-req-loc-len":
        "syndrome NAK_INVALID_REQUEST;refusal receive-short",
    "why/rem-inv-req-rd-atomic":
        "IBV_WR_ATOMIC_FETCH_AND_ADD;refusal no-depth;drop dying",
    "why/rem-op":
        "syndrome NAK_REMOTE_OPERATION;refusal receive-denied",
    "why/segfault-class":
        "rule crash-sg;rule crash-next",
    "why/segfault-class-bad-wr":
        "field bad_wr;rule crash-bad-wr",
    "why/sge-unfilled":
        "field num_sge",
    "why/solicited-only-rxe":
        "field channel;record CQ_ARMED",
    "why/sq-too-small":
        "IBV_SEND_SIGNALED",
    "why/sqd":
        "IBV_QPS_SQD",
    "why/sqd-rxe":
        "modify_qp RTS SQD;modify_qp SQD RTS;IBV_EVENT_SQ_DRAINED;record ASYNC_RAISED;"
        "verb query_qp",
    "why/timeout-huge":
        "timeout;record PACKET_LOST;record FAULT_SET",
    "why/too-early":
        "IBV_EVENT_DEVICE_SPEED_CHANGE",
    "why/too-many-sges":
        "rule recv-sges",
    "why/uc-loss":
        "drop rest-of-message",
    "why/unacked-events":
        "record CQ_EVENT_TAKEN",
    "why/unacked-events-async":
        "IBV_EVENT_QP_FATAL;record ASYNC_TAKEN;record FAULT_STRUCK;record PROGRAM_RAN;"
        "record PROGRAM_WAITED;record PROGRAM_WOKEN",
    "why/unmapped":
        "EFAULT;rule mr-unmapped;record HOST_WROTE",
    "why/wr-id-ambiguous":
        "IBV_WC_RDMA_READ",
    "why/wrong-gid-index":
        "drop wrong-source",
    "why/wrong-gid-moved":
        "IBV_EVENT_GID_CHANGE;drop wrong-address;record GID_SET;verb gid",
    "why/wrong-qpn-ud":
        "drop wrong-qpn",
    "why/wrong-state-post-mlx5":
        "modify_qp RTS RESET",
    "why/xrc-srqn":
        "refusal wrong-srq",
    "wr/all-or-nothing":
        "rule crash-builder;record BATCH_SPOILED",
    "wr/atomics":
        "verb wr_atomic_cmp_swp;verb wr_atomic_fetch_add",
    "wr/builders-of-each-type":
        "field send_ops_flags;rule qp-ex-pd;rule send-ops;verb create_qp_ex",
    "wr/data-setters":
        "rule setter-place;verb wr_set_sge;verb wr_set_sge_list;verb wr_set_inline_data",
    "wr/datagrams":
        "IBV_WC_RECV;IBV_WC_WITH_IMM;verb wr_set_ud_addr",
    "wr/inline-setters":
        "verb wr_rdma_write;verb wr_rdma_read;verb wr_set_inline_data_list",
    "wr/man-page-example":
        "verb wr_set;verb wr_rdma_write_imm",
    "wr/region-and-lock":
        "field thread;EDEADLK;rule region-needed;rule crash-deadlock;rule lock-held;"
        "verb alloc_td;verb alloc_parent_domain;verb wr_start",
    "wr/sends-of-each-type":
        "field max_tso_header",
    "wr/soft-roce":
        "ENOSPC",
    "wr/uc-send-with-invalidate":
        "IBV_WC_LOC_QP_OP_ERR;IBV_WR_SEND_WITH_INV;field invalidate_rkey",
    "wr/without-builders":
        "field comp_mask;rule no-qp-ex;record REGION_OPENED;record REGION_CLOSED;"
        "IBV_QP_INIT_ATTR_PD;IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;verb qp_to_qp_ex",
    "xrc/by-functions":
        "IBV_SRQT_XRC;verb wr_set_xrc_srqn",
    "xrc/domains":
        "field qp_num;field fd;field oflag;rule xrcd-private;rule xrcd-exists;rule xrcd-none;"
        "record QP_SHARED;oflag O_CREAT;oflag O_EXCL;verb open_xrcd;verb open_qp;"
        "verb destroy_qp;verb close_xrcd",
    "xrc/one-connection":
        "IBV_QPT_XRC_SEND;IBV_QPT_XRC_RECV;field srq_type;rule no-send-queue;"
        "rule no-receive-queue;verb create_srq_ex",
    "xrc/sends":
        "IBV_WR_SEND_WITH_IMM;field remote_srqn",
}
# fmt: on

SHOWN: dict[str, str] = {
    name: scenario for scenario, names in _BY_SCENARIO.items() for name in names.split(";")
}
