"""Serves moto's DynamoDB on a free port of loopback, and says on which.

Usage: serve.py. moto has a server of its own, but that has a thread for every connection and no locks: of two writes at
once one may be lost, and a condition may be checked before and met after another write. DynamoDB does neither. So this
one answers one request at a time.

What moto does is left as it is. Only its speed is not: see `quicken`.
"""

import asyncio
import collections
import copy
import functools
import gc
import io
import signal
import sys

from moto.core import responses
from moto.core.request import Request
from moto.core.serialize import JSONSerializer
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler


async def main():
    quicken()
    stopped = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)
    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=4096, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()


def quicken():
    """Spares moto the work that most of its time goes into, and changes nothing that a client could see."""

    # A transaction keeps the table as it was. moto copies every item; what nobody changes can be shared.
    def keep(table, _):
        kept = copy.copy(table)
        kept.items = collections.defaultdict(dict, {key: dict(items) for key, items in table.items.items()})
        return kept

    # An update changes the item itself: a copy of it, so that what is kept does not change with it.
    def update(backend, table_name, key, *args, **kwargs):
        table = backend.get_table(table_name)
        hash_key, range_key = backend.get_keys_value(table, key)
        if (item := table.get_item(hash_key, range_key)) is not None:
            table.items[hash_key][range_key] = copy.deepcopy(item)
        return update_item(backend, table_name, key, *args, **kwargs)

    # Every comparison of two strings asks for their value, after which kinds of sets and lists they are not.
    def value(one):
        return one.value if one.type == "S" else cast_value(one)

    # Every query sorts the whole table. Here all keys are strings, which need not be compared by moto.
    def by_key(entries):
        return [value for _, value in sorted(entries.items(), key=lambda entry: entry[0].value)]

    def all_items(table):
        return [item for items in by_key(table.items) for item in by_key(items)]

    # Of a structure, moto looks for every member that Amazon knows, in six spellings. A dictionary has Amazon's.
    def serialize(serializer, serialized, value, shape, key):
        if type(value) is not dict:
            return serialize_any(serializer, serialized, value, shape, key)
        members = serializer.MAP_TYPE() if key else serialized
        for name, member in value.items():
            if member is not None and name in shape.members:
                shape.members[name].parent = shape
                serializer._serialize(members, member, shape.members[name], name)
        if key:
            serializer._default_serialize(serialized, members, shape, key)

    # For every request, moto looks through its class for what it can do.
    responses.method_names_from_class = functools.cache(responses.method_names_from_class)
    update_item, cast_value = DynamoDBBackend.update_item, DynamoType.cast_value.fget
    serialize_any = JSONSerializer._serialize_type_structure
    DynamoDBBackend.update_item = update
    DynamoType.cast_value = property(value)
    JSONSerializer._serialize_type_structure = serialize
    Table.__deepcopy__ = keep
    Table.all_items = all_items
    # moto remembers every item that there ever was.
    for model in (Table, Item):
        model.instances_tracked = collections.deque(maxlen=0)
    gc.freeze()


async def converse(reader, writer):
    """Requests and answers on one connection, until the client leaves."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {
                name.strip().upper().replace("-", "_"): value.strip()
                for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("CONTENT_LENGTH", "0")))
            writer.write(answer(method, path, headers, body))
            await writer.drain()
    except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
        pass
    finally:
        writer.close()


def answer(method, path, headers, body):
    request = Request(
        {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "CONTENT_TYPE": headers.pop("CONTENT_TYPE", ""),
            "CONTENT_LENGTH": headers.pop("CONTENT_LENGTH", "0"),
            **{f"HTTP_{name}": value for name, value in headers.items()},
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
        }
    )
    status, answered, content = DynamoHandler.dispatch(request, request.raw_url, dict(request.headers))
    content = content.encode() if isinstance(content, str) else content
    lines = [f"HTTP/1.1 {status} "]
    lines += [f"{name}: {value}" for name, value in answered.items() if name.lower() != "content-length"]
    lines += [f"Content-Length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + content


if __name__ == "__main__":
    asyncio.run(main())
