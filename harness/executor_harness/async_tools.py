"""Lets scripts call async tools like ordinary functions."""

import functools
import importlib
import types

from .cpython import threading

CO_COROUTINE, CO_ASYNC_GENERATOR = 0x80, 0x200  # as in `inspect`, which is slow to import

asyncio = None  # large, so imported only when a tool is async


class ToolLoop:
    """A private event loop in its own thread, started in the worker by the first async call."""

    def __init__(self):
        self.loop = self.thread = None

    def is_here(self):
        return self.thread is not None and self.thread.ident == threading.get_ident()

    def call(self, awaitable):
        future = asyncio.run_coroutine_threadsafe(_contained(awaitable), self._running())
        try:
            value, error = future.result()
        except BaseException as interruption:  # the script timed out or was cancelled
            future.cancel()
            raise interruption.with_traceback(None)  # the place in the waiting is of no interest
        if error is not None:
            raise error
        return value

    def _running(self):
        if self.loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="hearth-tools", daemon=True)
            thread.start()
            # Last, because a time-out may end this function anywhere.
            self.thread, self.loop = thread, loop
        return self.loop

    def iterate(self, generator):
        try:
            while True:
                yield self.call(generator.__anext__())
        except StopAsyncIteration:
            return
        except GeneratorExit:
            self.call(generator.aclose())
            raise


async def _contained(awaitable):
    # Exceptions travel as values: sys.exit, raised in the loop's own thread, would end the loop.
    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


tool_loop = ToolLoop()


def synchronous(tool):
    """An async tool as scripts call it. In the loop it stays async: tools can await tools."""
    finish = tool_loop.call if tool.__code__.co_flags & CO_COROUTINE else tool_loop.iterate

    @functools.wraps(tool)
    def call(*args, **kwargs):
        started = tool(*args, **kwargs)
        return started if tool_loop.is_here() else finish(started)

    return call


def wrap_async_tools(tools, module):
    """Replaces the async functions among `tools` that were defined in `module`."""
    global asyncio
    for name, tool in list(tools.items()):
        if not isinstance(tool, types.FunctionType) or tool.__module__ != module:
            continue
        if tool.__code__.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
            asyncio = asyncio or importlib.import_module("asyncio")
            tools[name] = synchronous(tool)
