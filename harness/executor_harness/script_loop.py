"""The event loop for `await` outside of functions: one for a script, or for all steps of a lease.

asyncio is large, so only a script that needs it imports it.
"""

import importlib

from .interrupts import interrupts

CO_COROUTINE = 0x80  # as in `inspect`, which is slow to import

asyncio = None


class ScriptLoop:
    def __init__(self):
        self.loop = None
        self.has_run = False
        self.main = None  # the task that runs a script or step
        self.interruption = None  # the exception that has cancelled it

    def evaluate(self, parts, namespace):
        """The value of the last part. If one of them awaits, all run in the loop."""
        if any(part.co_flags & CO_COROUTINE for part in parts):
            return self._run(_evaluate_all(parts, namespace))
        value = None
        for part in parts:
            value = eval(part, namespace)
        return value

    def _run(self, coroutine):
        self._open()
        self.has_run = True
        self.interruption = None
        outcome = []
        self.main = self.loop.create_task(_contained(coroutine, outcome))
        self.main.add_done_callback(self._stop)
        interrupts.divert = self._divert
        try:
            self._run_main(coroutine)
        finally:
            interrupts.divert = self.main = None
        value, error = outcome or (None, self.interruption)
        if isinstance(error, asyncio.CancelledError) and self.interruption is not None:
            raise self.interruption.with_traceback(error.__traceback__)  # the place of the `await`
        if error is not None:
            raise error
        return value

    def _open(self):
        global asyncio
        if self.loop is None:
            asyncio = importlib.import_module("asyncio")
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)

    def _stop(self, _):
        self.loop.stop()

    def _run_main(self, coroutine):
        try:
            self.loop.run_forever()
        except BaseException:  # of another task, which asyncio lets through: sys.exit, for instance
            if not self.main.done():
                self.main.cancel()
                self.loop.run_forever()
            raise
        finally:
            coroutine.close()  # if it was cancelled before its start

    def _divert(self, error):
        """Called in a signal handler. True if the exception reaches the script as a cancellation:
        raised while no task runs, it would be asyncio's."""
        if not self.loop.is_running():
            return False
        task = asyncio.current_task(self.loop)
        if task is self.main:
            return False
        self.interruption = error
        self.main.cancel()
        self.loop.call_soon_threadsafe(lambda: None)  # it may be waiting for events
        return task is None

    def close(self):
        """As asyncio.run() ends: what still runs is cancelled."""
        if self.loop is None:
            return
        loop, self.loop = self.loop, None
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        if hasattr(loop, "shutdown_default_executor"):  # since 3.9
            loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        loop.close()


async def _evaluate_all(parts, namespace):
    value = None
    for part in parts:
        value = eval(part, namespace)
        if part.co_flags & CO_COROUTINE:
            value = await value
    return value


async def _contained(coroutine, outcome):
    # Exceptions travel as values: asyncio treats some of them in its own way, and before 3.11 the
    # place of a cancellation would be lost.
    try:
        outcome[:] = await coroutine, None
    except BaseException as error:
        outcome[:] = None, error


script_loop = ScriptLoop()
