"""All the words there are, gathered by name and in the order in which help shows them."""

from rdmalab.command import Command
from rdmalab.verbs import ah, cq, device, events, mr, pd, post, qp, srq, xrcd
from rdmalab.workbench import faults, files, help, look, memory, pairs, port, time  # noqa: A004

GROUPS: dict[str, tuple[Command, ...]] = {
    "verbs: objects": (
        pd.alloc_pd,
        mr.reg_mr,
        cq.create_cq,
        cq.create_cq_ex,
        cq.resize_cq,
        qp.create_qp,
        qp.modify_qp,
        qp.query_qp,
        srq.create_srq,
        srq.create_srq_ex,
        srq.modify_srq,
        srq.query_srq,
        srq.get_srq_num,
        xrcd.open_xrcd,
        xrcd.open_qp,
        ah.create_ah,
        ah.attach_mcast,
        ah.detach_mcast,
        ah.destroy_ah,
        qp.destroy_qp,
        srq.destroy_srq,
        xrcd.close_xrcd,
        cq.destroy_cq,
        mr.dereg_mr,
        pd.dealloc_pd,
    ),
    "verbs: work": (post.post_send, post.post_recv, srq.post_srq_recv, cq.poll_cq),
    "verbs: device": (
        device.open_device,
        device.query_device,
        device.query_device_ex,
        device.query_port,
        device.query_gid,
        device.query_gid_ex,
        device.query_pkey,
        device.close_device,
    ),
    "verbs: events": (
        events.create_comp_channel,
        events.req_notify_cq,
        events.get_cq_event,
        events.ack_cq_events,
        events.get_async_event,
        events.ack_async_event,
        events.destroy_comp_channel,
    ),
    "verbs: extended polling": (cq.start_poll, cq.next_poll, cq.wc_read, cq.end_poll),
    "short forms": (pairs.use, pairs.connect, pairs.to_rts, pairs.reset),
    "time": (time.step, time.run, time.until, time.checkpoint),
    "memory": (memory.write, memory.fill, memory.read, memory.hexdump),
    "cable": (faults.fault, faults.faults, faults.link),
    "port": (port.port, port.gid, port.pkey, port.device_fatal),
    "look": (look.show, look.changes, look.node),
    "learn": (help.help_, help.explain, files.load, files.next_),
    "leave": (look.quit_,),
}

VOCABULARY: dict[str, Command] = {
    command.name: command for group in GROUPS.values() for command in group
}
