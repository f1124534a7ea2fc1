"""Files where people keep them: on a disk, or in an object store (S3, GCS, Azure) through the package `obstore`.

`path_of` gives a `Path` for a plain path or `file://`, an `ObjectPath` for `s3://`, `s3a://`, `gs://`, `abfss://`. Both
answer to the part of `pathlib` that Rookery uses, so that what reads or writes files is written once.

Rule 1: `create` is the one decision that counts: of all who create one name at once exactly one succeeds, and a name
that is there is whole. On a disk it is a hard link, in a store a conditional put (S3's `If-None-Match`).
Rule 2: a store has no rename and no folders. What has to appear as one is named by a file that is created last.
Rule 3: what no store is known for is refused, never taken for a name of a local folder.

Keys and addresses come from the environment, by the names that the clouds' own tools read (`AWS_ACCESS_KEY_ID`,
`AWS_ENDPOINT_URL`, `AWS_REGION` …), so that they are the same for the driver, the workers and other libraries.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from rookery.errors import PipelineError
from rookery.extras import need

__all__ = [
    "Location",
    "ObjectPath",
    "absolute",
    "create",
    "is_remote",
    "names_in",
    "parts_below",
    "path_of",
    "paths_of",
    "plain_name",
    "put_file",
    "remove_tree",
    "sign_of",
    "source_of",
    "store_options",
    "walk",
]

#: The schemes of object stores, each with the one that stands for it in names.
SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "abfs": "abfss", "abfss": "abfss", "az": "az"}


def is_remote(path: object) -> bool:
    """Say whether a path is in an object store."""
    return isinstance(path, ObjectPath)


def path_of(path: str | Path | ObjectPath) -> Location:
    """Return the path that a text names: on a disk, or in an object store."""
    if not isinstance(path, str):
        return path
    scheme, colon, rest = path.partition(":")
    if not colon or len(scheme) < 2 or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) or rest[:1] != "/":
        return Path(path)
    if scheme.lower() == "file":
        return Path(unquote(urlsplit(path).path))
    if scheme.lower() not in SCHEMES or not rest.startswith("//"):
        raise PipelineError(
            f"{path}: Rookery reads and writes local paths, file://, {'://, '.join(SCHEMES)}://, not {scheme}://; "
            "mount it, or load it with Spark's own reader and hand the DataFrame to rookery.spark.match"
        )
    bucket, _, key = rest[2:].partition("/")
    if not bucket:
        raise PipelineError(f"{path}: names no bucket; write {scheme}://BUCKET/folder")
    return ObjectPath(f"{scheme.lower()}://{bucket}", key.strip("/"))


def absolute(path: str | Path | ObjectPath) -> str:
    """Return the text of a path that means the same in every process."""
    found = path_of(path)
    return str(found) if isinstance(found, ObjectPath) else str(found.absolute())


@dataclass(frozen=True, slots=True, order=True)
class ObjectPath:
    """A name in an object store, or all names below it: the bucket with its scheme, and the key."""

    root: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    def __truediv__(self, name: str | PurePosixPath) -> ObjectPath:
        return self.joinpath(str(name))

    def joinpath(self, *names: str) -> ObjectPath:
        """Return a path below this one."""
        return ObjectPath(self.root, "/".join(part for part in (self.key, *names) if part))

    @property
    def name(self) -> str:
        """The last part."""
        return self.key.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the last part."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> ObjectPath:
        """The path above."""
        return ObjectPath(self.root, self.key.rpartition("/")[0])

    @property
    def parents(self) -> list[ObjectPath]:
        """The paths above, the nearest first, up to the bucket."""
        found, one = [], self
        while one.key:
            one = one.parent
            found.append(one)
        return found

    def with_name(self, name: str) -> ObjectPath:
        """Return a path beside this one."""
        return self.parent / name

    def resolve(self) -> ObjectPath:
        """Return the path itself: a store has no links."""
        return self

    def is_file(self) -> bool:
        """Say whether there is such an object."""
        try:
            return bool(self.key) and self.stat() is not None
        except FileNotFoundError:
            return False

    def is_dir(self) -> bool:
        """Say whether there is an object below."""
        with _clear_errors(self):
            return any(chunk for chunk in _store(self.root).list(self.key or None, chunk_size=1))

    def exists(self) -> bool:
        """Say whether there is such an object, or one below."""
        return self.is_file() or self.is_dir()

    def stat(self) -> dict[str, Any]:
        """Return what the store says of the object: size, e_tag, last_modified."""
        with _clear_errors(self):
            return dict(_store(self.root).head(self.key))

    def read_bytes(self) -> bytes:
        """Read the object."""
        with _clear_errors(self):
            return bytes(_store(self.root).get(self.key).bytes())

    def read_text(self, encoding: str = "utf-8") -> str:
        """Read the object as text."""
        return self.read_bytes().decode(encoding)

    def open(self, mode: str = "r", *, encoding: str | None = None, newline: str | None = None) -> Any:
        """Open the object for reading."""
        raw = io.BytesIO(self.read_bytes())
        return raw if "b" in mode else io.TextIOWrapper(raw, encoding=encoding or "utf-8", newline=newline)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object; a store does not say whether there was one."""
        with _clear_errors(self), contextlib.suppress(FileNotFoundError):
            _store(self.root).delete(self.key)

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a store has no folders."""

    def copy_to(self, target: ObjectPath) -> None:
        """Copy the object inside the store."""
        with _clear_errors(self):
            _store(self.root).copy(self.key, target.key)


Location = Path | ObjectPath


def create(path: Location, data: bytes) -> bool:
    """Create a file whole and exclusively; False where the name is taken."""
    if isinstance(path, ObjectPath):
        from obstore.exceptions import AlreadyExistsError

        with _clear_errors(path):
            try:
                _store(path.root).put(path.key, data, mode="create")
            except AlreadyExistsError:
                return False
        return True
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(fresh, path)
    except FileExistsError:
        return False
    finally:
        fresh.unlink(missing_ok=True)
    return True


def parts_below(path: Location, folder: Location) -> tuple[str, ...]:
    """Return the names that lead from a folder to a path below it."""
    if isinstance(path, ObjectPath) and isinstance(folder, ObjectPath) and path.root == folder.root:
        return PurePosixPath(path.key).relative_to(folder.key).parts
    if isinstance(path, Path) and isinstance(folder, Path):
        return path.relative_to(folder).parts
    raise ValueError(f"{path} is not below {folder}")


def put_file(local: Path, target: ObjectPath) -> None:
    """Bring a local file into the store; it appears there whole."""
    with _clear_errors(target), local.open("rb") as file:
        _store(target.root).put(target.key, file)


def source_of(path: Location) -> Any:
    """Return what Arrow reads a file from."""
    return path if isinstance(path, Path) else io.BufferedReader(_Ranges(path), 1 << 16)


def sign_of(path: Location) -> str:
    """Return a sign that differs whenever a file was replaced."""
    if isinstance(path, ObjectPath):
        known = path.stat()
        return f"{known['size']}|{known['e_tag']}|{known['last_modified']}"
    state = path.stat()
    return f"{state.st_size}|{state.st_mtime_ns}|{state.st_ino}"


def names_in(folder: Location) -> list[str]:
    """Return the names directly in a folder, sorted; none where there is no such folder."""
    if isinstance(folder, ObjectPath):
        with _clear_errors(folder):
            found = _store(folder.root).list_with_delimiter(folder.key or None)
        keys = [*found["common_prefixes"], *(one["path"] for one in found["objects"])]
        below = {key.rstrip("/") for key in keys} - {folder.key}  # some stores name the folder itself
        return sorted(key.rpartition("/")[2] for key in below)
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def walk(root: Location) -> Iterator[tuple[Location, list[str], list[str]]]:
    """Go through a folder as `os.walk` does: each folder with its folders, which may be taken out, and its files."""
    if isinstance(root, Path):
        for name, folders, files in os.walk(root):
            yield Path(name), folders, [one for one in files if (Path(name) / one).is_file()]
        return
    tree: dict[str, tuple[dict[str, None], list[str]]] = {root.key: ({}, [])}
    with _clear_errors(root):
        for chunk in _store(root.root).list(root.key or None, chunk_size=1000):
            for one in chunk:
                above, _, name = one["path"].rpartition("/")
                if one["size"] == 0 and one["path"].endswith("_$folder$"):
                    continue  # how Hadoop says that a folder is there
                tree.setdefault(above, ({}, []))[1].append(name)
                while above != root.key:
                    upper, _, folder = above.rpartition("/")
                    tree.setdefault(upper, ({}, []))[0][folder] = None
                    above = upper
    pending = [root.key]
    while pending:
        key = pending.pop()
        folders, names = list(tree[key][0]), tree[key][1]
        yield ObjectPath(root.root, key), folders, names
        pending += [f"{key}/{name}" if key else name for name in folders]


def remove_tree(folder: Location) -> None:
    """Remove a folder and all that is in it; none is no error."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
        return
    with _clear_errors(folder):
        store = _store(folder.root)
        for chunk in store.list(folder.key, chunk_size=1000):
            store.delete([one["path"] for one in chunk])


def plain_name(path: Location) -> str:
    """Return how a file is called in data: where it is, whichever scheme of one store it was named by."""
    if isinstance(path, Path):
        return str(path.resolve())
    scheme, _, rest = str(path).partition("://")
    return f"{SCHEMES[scheme]}://{rest}"


def store_options() -> dict[str, str]:
    """Return what other libraries over the same stores must be told besides the environment."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    return {"allow_http": "true"} if endpoint.startswith("http://") else {}


class _Ranges(io.RawIOBase):
    """An object as a file that is read in ranges."""

    def __init__(self, path: ObjectPath) -> None:
        self.path, self.place = path, 0
        self.size = int(path.stat()["size"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        return self.place

    def readinto(self, buffer: Any) -> int:
        end = min(self.place + len(buffer), self.size)
        if end <= self.place:
            return 0
        with _clear_errors(self.path):
            found = _store(self.path.root).get_range(self.path.key, start=self.place, end=end)
        buffer[: len(found)] = memoryview(found)
        self.place += len(found)
        return len(found)


def _store(root: str) -> Any:
    return _open_store(root, os.getpid())


@functools.lru_cache(maxsize=16)
def _open_store(root: str, process: int) -> Any:
    """Return the store of a bucket; each process has its own, since a fork does not take the threads along."""
    need("obstore", f"{root}, an object store,")
    from obstore.store import from_url

    options: Any = store_options()
    scheme, _, bucket = root.partition("://")
    return from_url(f"{SCHEMES[scheme]}://{bucket}", client_options=options)


@contextlib.contextmanager
def _clear_errors(path: ObjectPath) -> Iterator[None]:
    """Say what a store refuses as the error of a file."""
    from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        yield
    except (FileNotFoundError, AlreadyExistsError):
        raise
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise PermissionError(
            f"{path}: the store does not let us in; are the keys in the environment right? ({_short(error)})"
        ) from error
    except BaseError as error:
        raise OSError(f"{path}: {_short(error)}") from error


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def paths_of(paths: str | Path | ObjectPath | Iterable[str | Path | ObjectPath]) -> list[Location]:
    """Return one path or several as a list."""
    several = [paths] if isinstance(paths, str | Path | ObjectPath) else paths
    return [path_of(path) for path in several]
