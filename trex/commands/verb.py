"""A verb: one function on options, which is a function with keywords in Python and a command in the shell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from pydantic import create_model

from trex.commands.parameters import (
    MODEL,
    PROGRESS,
    SET,
    described,
    in_keywords,
    key_parameters,
    python_parameters,
)
from trex.commands.shell import complete
from trex.commands.shell.result import AsJson, Printed, note, print_result
from trex.commands.shell.streams import others_apart
from trex.foundation.errors import OURS, InputError, unknown
from trex.foundation.options import Key, Option, Options

if TYPE_CHECKING:
    from trex.clevr_models.adapters.live import SessionModel
    from trex.pages.display import Display


class Stopped(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, during a search or an audit: every draw and answer is on the disk.

    `path` is the run folder, None if nothing was written yet; `trex.open_run(path)` has the draws so far, and its
    `resume()` continues. Being a KeyboardInterrupt, it ends a loop over several searches too.
    """

    def __init__(self, path: Path | None, advice: str = "") -> None:
        self.path = path
        super().__init__("stopped before anything was written" if path is None else f"stopped; {advice}")


class Result(Protocol):
    """What a verb gives: `str` is what its command prints, `document` the same as JSON."""

    def document(self) -> object:
        """The result for machines."""


@dataclass
class Session:
    """A verb at work: its display and options, the user's model if it is an object, the folder that keeps the work."""

    display: Display
    options: Options
    model: SessionModel | None = None
    folder: Path | None = None

    def begin(self, folder: Path) -> None:
        """Say where the verb writes; call it before anything is written."""
        self.folder = folder
        self.display.say(f"writing to {folder}")


O = TypeVar("O", bound=Options)  # noqa: E741
R = TypeVar("R", bound=Result)
P = TypeVar("P", bound=Printed)
T = TypeVar("T")


@dataclass(frozen=True)
class Verb(Generic[O, R]):
    """A function of checked options, its name and documentation those of the verb.

    `kept` is what a stop leaves, if the same call then resumes; else `last_words` says what does. `after` follows the
    printed result and gives the exit code. In Python alone, `keys` are further keywords: each a key of a query that
    becomes an item of the option "set"; `named` gives names to objects among these, `result` makes what
    is returned, `details` end the help.
    """

    options: type[O]
    do: Callable[[O, Session], R]
    kept: str = ""
    last_words: Callable[[Path], Sequence[str]] = lambda folder: ()
    notes: Callable[[R], Sequence[str]] = lambda result: ()  # on the terminal alone, before the result
    after: Callable[[O, R], int] = lambda options, result: 0
    keys: Callable[[], Mapping[str, Key]] = dict
    named: Callable[[Mapping[str, object]], Mapping[str, object]] = lambda keyed: keyed
    result: Callable[[R, Session], Any] = lambda result, session: result
    details: str = ""

    def function(self) -> Callable[..., Any]:
        """The verb for Python: arguments and keywords are the options, `model` may be an object of the session.

        InputError names an option that is unknown or wrong. Stopped on Ctrl-C.
        """
        keys = {name: each for name, each in self.keys().items() if name not in self.options.model_fields}
        signature = inspect.Signature([*python_parameters(self.options), *key_parameters(keys)])

        def verb(*given: object, **keywords: object) -> Any:
            try:
                values = signature.bind_partial(*given).arguments
            except TypeError as error:
                keyword = inspect.Parameter.KEYWORD_ONLY
                taken = ", ".join(each.name for each in signature.parameters.values() if each.kind != keyword)
                raise InputError(
                    f"{self.do.__name__} has {error} (it takes {taken}); give further options by keyword, several "
                    "values of one as a list"
                ) from error
            values = {name: value for name, value in {**values, **keywords}.items() if value is not None}
            for name in values:
                if name not in signature.parameters:
                    raise unknown("keyword", name, signature.parameters)
            is_shown, live = bool(values.pop(PROGRESS, True)), None
            if of_query := [name for name in values if name in keys]:
                from trex.query.verb_options import joined_settings

                keyed: dict[str, object] = {}
                for name in of_query:
                    key = keys[name].dotted
                    if key in keyed:
                        raise InputError(f"{name} sets {key}, which another keyword sets too; give one")
                    keyed[key] = values.pop(name)
                values[SET] = joined_settings(values.get(SET, ()), self.named(keyed))
            if MODEL in values:
                from trex.finding.source import model_argument

                values[MODEL], live = model_argument(values[MODEL])
            with in_keywords(self.options):
                options = self.options.checked(values)
            return self.call(options, live, is_shown=is_shown)

        vars(verb)["__signature__"] = signature
        verb.__module__, verb.__name__, verb.__qualname__ = self.do.__module__, *[self.do.__name__] * 2
        text = "\n\n".join(filter(None, (inspect.getdoc(self.do), self.details)))
        verb.__doc__ = described(text, self.options, keys)
        return verb

    def call(self, options: O, model: SessionModel | None, *, is_shown: bool) -> Any:
        """What the verb returns in Python, with an object as its model if it is not named."""
        from trex.clevr_models.adapters.live import session_model_available
        from trex.pages.display import display_if

        with in_keywords(self.options), session_model_available(model), display_if(is_shown) as display:
            session = Session(display, options, model)
            try:
                done = self.do(options, session)
            except KeyboardInterrupt:
                resume = f'trex.open_run("{session.folder}"{", model=model" if model else ""}).resume()'
                kept = f"{self.kept}, and the same call resumes" if self.kept else ""
                place = session.folder and session.folder.absolute()
                raise Stopped(place, kept or f"every draw is kept. Resume: {resume}") from None
            self.after(options, done)
            return self.result(done, session)

    def command(self) -> Callable[..., None]:
        """The verb for the shell, with the options in its signature as typer reads them."""

        def verb(ctx: typer.Context, as_json: bool, **_: object) -> None:
            given = {name: ctx.params[name] for name in self.options.model_fields if _is_given(ctx, name)}
            options = self.options.checked(given, is_typed=True)
            from trex.pages.display import Display

            with (
                others_apart(as_json),
                Display() as display,
                self._stoppable(Session(display, options)) as session,
            ):
                result = self.do(options, session)
            for line in () if as_json else self.notes(result):
                note(line)
            print_result(result.document(), str(result), as_json)
            with others_apart(as_json):
                code = self.after(options, result)
            if code:
                raise typer.Exit(code)

        parameters = _shell_parameters(self.options)
        signature = inspect.Signature(parameters)
        annotations = {each.name: each.annotation for each in parameters}
        vars(verb).update(__signature__=signature, __annotations__=annotations)
        verb.__name__, verb.__doc__ = self.do.__name__, self.do.__doc__
        return verb

    @contextmanager
    def _stoppable(self, session: Session) -> Iterator[Session]:
        """Ctrl-C and SIGTERM print what is kept, and what resumes it."""
        from trex.search.stopping import stoppable

        def last_words() -> Sequence[str]:
            if self.kept:
                return [f"stopped; {self.kept}, and the same command resumes"]
            folder = session.folder
            return ["stopped before anything was written"] if folder is None else self.last_words(folder)

        with stoppable(last_words):
            yield session


def verb_of(function: Callable[..., P], kept: str = "") -> Verb[Any, P]:
    """A verb whose options are the annotated parameters of a function, besides its first: the session."""
    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    fields: dict[str, Any] = {
        each.name: (hints[each.name], ... if each.default is inspect.Parameter.empty else each.default)
        for each in parameters
    }

    @wraps(function)
    def do(options: Options, session: Session) -> P:
        return function(session, **{name: getattr(options, name) for name in fields})

    options = create_model(function.__name__, __base__=Options, **fields)
    return Verb(options, do, kept, after=lambda _, done: done.code)


def failed(fault: str) -> int:
    """The exit code of a result with this fault of ours, which is printed; 0 if it is ""."""
    if fault:
        note(f"error: {fault}")
    return OURS if fault else 0


def with_options(
    options: type[Options], without: Sequence[str] = ()
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """A method whose further keywords are these options, in its errors too; `help` and Tab list them with defaults.

    `without` are those that the method gives itself.
    """

    def named(method: Callable[..., T]) -> Callable[..., T]:
        signature = inspect.signature(method)
        known = {
            name: each
            for name, each in signature.parameters.items()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        }
        further = [each for each in python_parameters(options)[:-1] if each.name not in {*known, *without}]
        called = in_keywords(options)(method)
        vars(called)["__signature__"] = signature.replace(parameters=[*known.values(), *further])
        called.__doc__ = described(inspect.getdoc(method) or "", options, without=without)
        return called

    return named


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def _shell_parameters(options: type[Options]) -> Sequence[inspect.Parameter]:
    """The typer context, every option as typer declares it, and --json."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", keyword, annotation=typer.Context)]
    for name, info in options.model_fields.items():
        annotation: Any = info.annotation
        if get_origin(annotation) is tuple:
            annotation = list[get_args(annotation)[0]]  # type: ignore[misc]
        default = inspect.Parameter.empty if info.is_required() else info.default
        declared = typer_declaration(options.declared(name))
        parameters.append(
            inspect.Parameter(name, keyword, default=default, annotation=Annotated[annotation, declared])
        )
    return [*parameters, inspect.Parameter("as_json", keyword, default=False, annotation=AsJson)]


def typer_declaration(option: Option) -> Any:
    """The option as typer declares it; bounds are checked by the model."""
    completion = getattr(complete, option.complete) if option.complete else None
    if option.is_argument:
        return typer.Argument(metavar=option.metavar, help=option.help, autocompletion=completion)
    return typer.Option(
        *option.flags,
        metavar=option.metavar,
        help=option.help,
        envvar=option.envvar,
        autocompletion=completion,
    )
