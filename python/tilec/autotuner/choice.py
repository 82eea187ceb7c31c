"""Choices: which configuration was best. Found again, confirmed, or missed."""

from __future__ import annotations

import itertools
import json
import time

from .. import _tl, cache
from ..typed import TYPE_CHECKING, cast
from .records import MAX_SECONDS, Record, jsonable
from .result import AutotuneResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..kernel import Kernel
    from .configs import Config
    from .problem import Problem
    from .records import Store


def known(problem: Problem, store: Store) -> AutotuneResult | None:
    """Returns what an earlier tuning chose, or what came with the program."""
    # Who may measure finds again what the key does not wholly say.
    own = store.versions(problem.key) if problem.is_certain or problem.profile.is_frozen else []
    choices = [*((choice, True) for choice in own), *((choice, False) for choice in problem.shipped)]
    for choice, is_own in choices:
        if not is_own and not _suits(choice, problem):
            continue
        found = _from_choice(problem, store, choice, confirm=is_own)
        if found:
            return found
    return None


def _suits(choice: Any, problem: Problem) -> bool:
    """Whether a shipped choice is for this function, these arguments and this device."""
    return all(
        _components(choice).get(part) == problem.components[part] for part in ("function", "arguments", "device")
    )


def _components(choice: Any) -> dict[str, Any]:
    """Returns what a choice was made for; nothing if it does not say."""
    return _mapping(_mapping(choice).get("components"))


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _from_choice(problem: Problem, store: Store, choice: Any, *, confirm: bool) -> AutotuneResult | None:
    """Returns the choice's result if it has all that it must, and the program that it was made for is still made."""
    if not isinstance(choice, dict):
        return None
    known = cast("dict[str, Any]", choice)
    config = _find(known.get("config"), [(_text(c), c) for c in problem.candidates])
    latency, reference, records = known.get("latency"), known.get("ref_latency"), known.get("records")
    if config is None or not isinstance(latency, float) or not _is_list_of_records(records):
        return None
    if not isinstance(reference, float | None) or "out_idx" not in known or not isinstance(known.get("checked"), bool):
        return None
    if not isinstance(known.get("shared"), dict) or "patience" not in known:
        return None
    patience = known["patience"]
    if not isinstance(patience, float | None):
        return None
    if confirm and not problem.profile.is_frozen and patience is not None and patience < problem.profile.timeout:
        return None  # what took too long then may be waited for now
    kernel = problem.build(config)
    if confirm and known["shared"] == problem.shared and known.get("kernels") != kernel_keys(kernel):
        return None
    if known["out_idx"] != (list(kernel.outputs) if kernel.outputs is not None else None):
        return None
    candidates = problem.candidates  # and not the problem, which has the tensors of a call
    return AutotuneResult(
        problem.name,
        config,
        latency,
        reference,
        kernel,
        lambda: _load_records(store, cast("list[Any]", records), candidates),
        choice=known,
        checked=known["checked"],
        key=problem.key,
        from_cache=True,
    )


def _text(config: Any) -> str:
    """Returns a configuration's text, by which 1, 1.0 and True differ."""
    return json.dumps(jsonable(config), sort_keys=True)


def _find(config: Any, own: Sequence[tuple[str, Config]]) -> Config | None:
    """Returns that of the function's own configurations, given with their texts, which somebody's record names. The
    record's may be long, so that its text is made once; it is JSON's already."""
    named = json.dumps(config, sort_keys=True)
    return next((c for text, c in own if text == named), None)


MAX_RECORDS = 10_000
"""Of a choice: one for each configuration that was tried."""


def _is_list_of_records(value: Any) -> bool:
    items = cast("list[Any]", value) if isinstance(value, list) else [None]
    return len(items) <= MAX_RECORDS and all(
        isinstance(item, dict) and isinstance(_mapping(item).get("key", ""), str) for item in items
    )


def kernel_keys(kernel: Kernel) -> list[str]:
    return [k["key"] for k in kernel.compile_info["kernels"]]


def listed(record: Record) -> dict[str, Any]:
    """Returns what a choice says of a configuration: where its record is, or all of one that is kept nowhere else."""
    return {"config": jsonable(record.config), "key": record.key} if record.key else record.to_json()


def listed_keys(choice: Mapping[str, Any]) -> set[str]:
    """Returns the keys of the records that a choice was made from; none if it does not say."""
    records = choice.get("records")
    items = map(_mapping, cast("list[Any]", records) if isinstance(records, list) else [])
    return {item["key"] for item in items if isinstance(item.get("key"), str)}


def _load_records(store: Store, items: Sequence[Any], candidates: Sequence[Config]) -> list[Record]:
    found: list[Record] = []
    own = [(_text(c), c) for c in candidates]
    end = time.monotonic() + MAX_SECONDS
    with _tl.CacheLookups():  # all of them are one lookup, of whatever keys somebody listed
        for item in map(_mapping, items):
            if time.monotonic() > end:
                break
            config, key = _mapping(item.get("config")), item.get("key", "")
            record = Record.from_json(store.load(key) if key else item, _find(config, own) or config, key)
            if record is not None:
                found.append(record)
    return found


def _brief(value: Any) -> str:
    """Returns what somebody's record says, in ASCII, and no more of it than a message can take."""
    text = json.dumps(value)
    return text if len(text) <= 500 else f"{text[:500]}…"


def missing(problem: Problem, store: Store) -> str:
    """Says what is missing, and what there is instead."""
    arguments, machine = json.dumps(problem.components["arguments"]), problem.device_identity["name"]
    why = "`never_compile` is in force" if cache.is_required() else "tuning is frozen"
    text = f"`{problem.name}` is not tuned for {arguments} on {machine}, and {why} (key {problem.key})"

    def differences(choice: Mapping[str, Any]) -> list[str]:
        return [part for part, value in problem.components.items() if _components(choice).get(part) != value]

    # One after the other: all of them together may take more memory than there is.
    everywhere = itertools.chain(problem.shipped, store.bodies())
    same = (c for c in everywhere if _components(c).get("function") == problem.name)
    nearest = min(same, key=lambda c: (len(differences(c)), json.dumps(_components(c), sort_keys=True)), default=None)
    if nearest is None:
        return f"{text}; there are no results of it at all: tune it once where that may be, or name them as `results`"
    theirs = _components(nearest)
    text = f"{text}; the nearest result chose {_brief(nearest.get('config'))}"
    shown = [f"{part}: {_brief(theirs.get(part))}" for part in differences(nearest)]
    return f"{text} and differs in {'; '.join(shown)}" if shown else f"{text} and lacks something, or is damaged"
