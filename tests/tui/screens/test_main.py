"""The main screen: how it shares its rows."""

from tests.tui.stand import stand


async def test_the_task_that_comes_is_read_whole_where_room_is_short() -> None:
    async with stand((80, 24)) as it:
        await it.say("tour again")
        for title in ("2. A receive", "3. INIT to RTR", "4. RTR to RTS", "5. A message"):
            while f"now   {title}" not in it.said:
                await it.say(it.app.main.model.offered)
            await it.sees(f"now   {title}", "A>")
