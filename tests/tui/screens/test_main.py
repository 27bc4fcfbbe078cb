"""The main screen: how it shares its rows, and what its tabs show."""

from tests.tui.stand import stand


async def test_the_task_that_comes_is_read_whole_where_room_is_short() -> None:
    async with stand((80, 24)) as it:
        await it.say("tour again")
        for title in ("2. A receive", "3. INIT to RTR", "4. RTR to RTS", "5. A message"):
            while f"now   {title}" not in it.said:
                await it.say(it.app.main.model.offered)
            await it.sees(f"now   {title}", "A>")


async def test_the_answer_of_a_question_that_comes_at_once_is_in_its_pane() -> None:
    """The tab Why is in front from the start; its pane is made later, or when it is asked for."""
    async with stand((120, 40)) as it:
        it.app.main._has_side = False  # as in the first half second
        await it.say("post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] rkey=0xdead", "run", "why")
        await it.sees("cause  rkey 0xdead")
