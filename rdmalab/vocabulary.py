"""All the words there are, gathered by name and in the order in which help shows them."""

from rdmalab.command import Command
from rdmalab.verbs import ah, cq, mr, mw, pd, post, qp
from rdmalab.workbench import faults, files, help, look, memory, pairs, time  # noqa: A004

GROUPS: dict[str, tuple[Command, ...]] = {
    "verbs: objects": (
        pd.alloc_pd,
        mr.reg_mr,
        mr.reg_mr_iova,
        mr.rereg_mr,
        cq.create_cq,
        qp.create_qp,
        qp.modify_qp,
        qp.query_qp,
        ah.create_ah,
        ah.attach_mcast,
        ah.detach_mcast,
        ah.destroy_ah,
        mw.alloc_mw,
        mw.bind_mw,
        mw.dealloc_mw,
        qp.destroy_qp,
        cq.destroy_cq,
        mr.dereg_mr,
        pd.dealloc_pd,
    ),
    "verbs: work": (post.post_send, post.post_recv, cq.poll_cq),
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
