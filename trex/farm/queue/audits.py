"""Audits in the queue: `queued.json` holds the options, and the folder is that of an audit that has begun."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import ValidationError

from trex.auditing.audit import begin
from trex.auditing.options import AuditOptions
from trex.auditing.perform import planned, rare_scenes, work_of
from trex.bank.named import world_query
from trex.farm.queue.requests import QueueRequest
from trex.foundation.errors import RunError
from trex.foundation.fields import first_problem
from trex.query.schema import Query

ONLY_HERE = {
    "out": "a queued audit is written into its own folder of the runs folder",
    "junit": "make the file from the finished audit: trex audit MODEL --out FOLDER --junit FILE",
    "searched": "a finished audit holds the queries; queue them: trex queue add FOLDER/searches/*.toml",
    "processes": "the workers of trex queue run render",
}


def audit_request(options: AuditOptions) -> QueueRequest:
    """The request of an audit, checked like `trex audit` does; InputError for options that no farm has."""
    for name, why in ONLY_HERE.items():
        options.refuse([name], why)
    query, _ = world_query(options.world)
    named = {"world": options.world, "bank": options.bank, "beside": options.beside}
    found = {name: path.resolve() for name, path in named.items() if path is not None and path.exists()}
    options = options.model_copy(update=found)
    if options.budget is not None:
        options = planned(options.budget, options).model_copy(update={"budget": None})
    # not by what lies in a folder that a farm does not use
    options = options.model_copy(update={"rare": rare_scenes(options)})
    settings = work_of(options).settings
    text = options.model_dump_json()
    files = begin(settings)
    content = "".join(["audit", text, *(f" {name} {data!r}" for name, data in files.items())])
    return QueueRequest(
        id=hashlib.sha256(content.encode()).hexdigest()[:16],
        kind="audit",
        source=Path(f"audit-{options.model.replace(':', '-').replace('/', '-')}"),
        text=text,
        overrides=(),
        question=f"audit of {options.model} in {options.world.stem}",
        query=named_by(options, query),
        files=files,
    )


def audit_options(text: str, folder: Path) -> AuditOptions:
    """The options that the `queued.json` of this folder holds; RunError if they are damaged."""
    try:
        return AuditOptions.model_validate_json(text)
    except ValidationError as error:
        key, message = first_problem(error)
        raise RunError(
            f"{folder} holds no audit that this version can run: {key}: {message}; queue it again"
        ) from error


def named_by(options: AuditOptions, world: Query | None = None) -> Query:
    """A query that names the code and the addresses that the audit names."""
    query = world or world_query(options.world)[0]
    model = query.model.model_copy(
        update={
            "name": options.model,
            "endpoint": options.endpoint or "",
            "trust_remote_code": options.trust_remote_code,
        }
    )
    return query.model_copy(update={"model": model})
