"""All the words there are, gathered by name and in the order in which help shows them."""

from rdmalab.command import Command
from rdmalab.verbs import ah, cq, mr, pd, post, qp, qp_ex, td, wr
from rdmalab.workbench import faults, files, help, look, memory, pairs, time  # noqa: A004

GROUPS: dict[str, tuple[Command, ...]] = {
    "verbs: objects": (
        pd.alloc_pd,
        mr.reg_mr,
        cq.create_cq,
        qp.create_qp,
        qp.modify_qp,
        qp.query_qp,
        qp_ex.create_qp_ex,
        qp_ex.qp_to_qp_ex,
        ah.create_ah,
        ah.attach_mcast,
        ah.detach_mcast,
        ah.destroy_ah,
        qp.destroy_qp,
        cq.destroy_cq,
        mr.dereg_mr,
        td.alloc_td,
        td.alloc_parent_domain,
        td.dealloc_td,
        pd.dealloc_pd,
    ),
    "verbs: work": (post.post_send, post.post_recv, cq.poll_cq),
    "verbs: work by functions": (
        wr.wr_start,
        wr.wr_set,
        wr.wr_send,
        wr.wr_send_imm,
        wr.wr_rdma_write,
        wr.wr_rdma_write_imm,
        wr.wr_rdma_read,
        wr.wr_atomic_cmp_swp,
        wr.wr_atomic_fetch_add,
        wr.wr_set_sge,
        wr.wr_set_sge_list,
        wr.wr_set_inline_data,
        wr.wr_set_inline_data_list,
        wr.wr_set_ud_addr,
        wr.wr_complete,
        wr.wr_abort,
    ),
    "short forms": (pairs.use, pairs.connect, pairs.to_rts, pairs.reset),
    "time": (time.step, time.run, time.until, time.checkpoint),
    "memory": (memory.write, memory.fill, memory.read, memory.hexdump),
    "cable": (faults.fault, faults.faults, faults.link),
    "look": (look.show, look.changes, look.node),
    "learn": (help.help_, help.explain, files.load, files.next_),
    "leave": (look.quit_,),
}

VOCABULARY: dict[str, Command] = {
    command.name: command for group in GROUPS.values() for command in group
}
