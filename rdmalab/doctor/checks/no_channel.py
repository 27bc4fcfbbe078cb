"""no-channel: what it arms was made without the channel on which it sleeps."""

from rdmalab.command import Noun, Ref, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import event_waiters
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import recreate_cq, waking
from rdmalab.hca.cq import CompletionQueue
from rdmalab.spec.records import Kind, event_of
from rdmalab.world.relations import exists


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether any queue it names tells that channel."""
    asleep = event_waiters.sleeper(case)
    if asleep is None:
        return NA
    named = _named(case)
    if asleep.cqs and (not named or any(cq in asleep.cqs for cq in named)):
        return ok(f"{event_waiters.cq_name(case, asleep.cqs[0])} tells its channel")
    if not event_waiters.stays(case):
        return ok("it is woken if time goes on")
    cq = named[0] if named else None
    told = [_made(case, cq, asleep.channel)] if cq is not None else [_alone(case, asleep.channel)]
    return fail(*told, event_waiters.sleeps(case, asleep), cure=_cure(case, cq, asleep.channel))


def _named(case: Case) -> list[CompletionQueue]:
    """The completion queues in the lines of the program, in their order."""
    program, found = case.program, []
    for line in program.lines if program is not None else ():
        arguments = line.invocation.arguments.values() if line.invocation is not None else ()
        for ref in arguments:
            thing = case.names.find(str(ref)) if isinstance(ref, Ref) else None
            if thing is not None and thing.noun is Noun.CQ and exists(case.world, thing):
                found.append(case.world.find(thing, CompletionQueue))
    return found


def _made(case: Case, cq: CompletionQueue, channel: Thing) -> Evidence:
    name = event_waiters.cq_name(case, cq)
    other = case.name(Noun.CHANNEL, cq.node, cq.channel) if cq.channel else ""
    what = f"with channel={other}" if other else "without a channel"
    made = case.log.about(Kind.CREATED, Thing(Noun.CQ, cq.node, cq.number))
    event = event_of(made[-1].record) if made else None
    return said(f"{name} was made {what}, not with {case.names.of(channel)}", event)


def _alone(case: Case, channel: Thing) -> Evidence:
    made = case.log.about(Kind.CREATED, channel)
    event = event_of(made[-1].record) if made else None
    return said(f"no completion queue was made with {case.names.of(channel)}", event)


def _cure(case: Case, cq: CompletionQueue | None, channel: Thing) -> Fix:
    """Make the queue anew, arm it, and let what came come once more."""
    program = f"create_cq … channel={case.names.of(channel)}, or poll instead of sleeping"
    if cq is None:
        return Fix(program=program)
    more = waking.one_more(case, cq)
    arm = f"req_notify_cq {event_waiters.cq_name(case, cq)}"
    return Fix([*recreate_cq.anew(case, cq, channel=channel.number), arm, *more])


CHECK = Check(
    17, "no-channel", Section.QUEUE,
    question="Was the queue made without the channel on which the program sleeps?",
    rule="a queue tells the channel it was made with; without one its events go nowhere",
    source="ibv_create_cq(3)", examine=examine,
)  # fmt: skip
