"""A verb: one function on options, which is a function with keywords in Python and a command in the shell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar, get_args, get_origin

import typer

from trex.commands.shell import complete
from trex.commands.shell.result import AsJson, note, print_result
from trex.foundation.errors import FAILED, OURS, InputError
from trex.foundation.options import Option, Options

if TYPE_CHECKING:
    from trex.pages.display import Display

PROGRESS, MODEL = "progress", "model"


class Result(Protocol):
    """What a verb gives: `str` is what its command prints, `document` the same as JSON."""

    def document(self) -> object:
        """The result for machines."""


@dataclass
class Session:
    """A verb at work: its display, the folder in which it keeps its work, and what to say if it is stopped now."""

    display: Display
    kept: str
    folder: Path | None = field(default=None)

    def begin(self, folder: Path) -> None:
        """Say where the verb writes; call it before anything is written."""
        self.folder = folder
        self.display.say(f"writing to {folder}")


O = TypeVar("O", bound=Options)  # noqa: E741
R = TypeVar("R", bound=Result)
T = TypeVar("T")


@dataclass(frozen=True)
class Verb(Generic[O, R]):
    """A function of checked options, its name and documentation those of the verb; `kept` is what a stop leaves."""

    options: type[O]
    do: Callable[[O, Session], R]
    kept: str
    fault: Callable[[R], str] = lambda result: ""  # an internal fault in the result: the command exits with 1
    is_failed: Callable[[R], bool] = lambda result: False  # a verdict: the command exits with 3
    notes: Callable[[R], Sequence[str]] = lambda result: ()  # of the result, on the terminal alone

    def function(self) -> Callable[..., R]:
        """The verb for Python: arguments and keywords are the options, `model` may be an object of the session.

        InputError names an option that is unknown or wrong. Stopped on Ctrl-C.
        """
        signature = inspect.Signature(_python_parameters(self.options))

        def verb(*given: object, **keywords: object) -> R:
            try:
                values = signature.bind_partial(*given).arguments
            except TypeError as error:
                raise InputError(
                    f"{self.do.__name__} has {error}; give further options by keyword"
                ) from error
            return self._called(values | keywords)

        vars(verb)["__signature__"] = signature
        verb.__module__, verb.__name__, verb.__qualname__ = self.do.__module__, *[self.do.__name__] * 2
        verb.__doc__ = f"{inspect.getdoc(self.do)}\n\n{_keywords_doc(self.options)}"
        return verb

    def command(self) -> Callable[..., None]:
        """The verb for the shell, with the options in its signature as typer reads them."""

        def verb(ctx: typer.Context, as_json: bool, **_: object) -> None:
            given = {name: ctx.params[name] for name in self.options.model_fields if _is_given(ctx, name)}
            options = self.options.checked(given, is_typed=True)
            from trex.pages.display import Display

            with Display() as display, stopped_in_shell(Session(display, self.kept)) as session:
                result = self.do(options, session)
            for line in () if as_json else self.notes(result):
                note(line)
            print_result(result.document(), str(result), as_json)
            if fault := self.fault(result):
                note(f"error: {fault}")
                raise typer.Exit(OURS)
            if self.is_failed(result):
                raise typer.Exit(FAILED)

        parameters = _shell_parameters(self.options)
        signature = inspect.Signature(parameters)
        annotations = {each.name: each.annotation for each in parameters}
        vars(verb).update(__signature__=signature, __annotations__=annotations)
        verb.__name__, verb.__doc__ = self.do.__name__, self.do.__doc__
        return verb

    def _called(self, values: dict[str, object]) -> R:
        from trex.clevr_models.adapters.live import session_model_available
        from trex.commands.results.stopped import Stopped
        from trex.finding.arguments import model_argument
        from trex.pages.display import display_if

        is_shown = bool(values.pop(PROGRESS, True))
        live = None
        if values.get(MODEL) is not None:
            values[MODEL], live = model_argument(values[MODEL])
        options = self.options.checked({name: value for name, value in values.items() if value is not None})
        with session_model_available(live), display_if(is_shown) as display:
            session = Session(display, self.kept)
            try:
                return self.do(options, session)
            except KeyboardInterrupt:
                raise Stopped(session.folder, f"{session.kept}, and the same call resumes") from None


def with_options(options: type[Options]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """A method whose further keywords are these options; `help` and Tab list them with their defaults."""

    def named(method: Callable[..., T]) -> Callable[..., T]:
        signature = inspect.signature(method)
        known = [
            each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        vars(method)["__signature__"] = signature.replace(
            parameters=[*known, *_python_parameters(options)[:-1]]
        )
        method.__doc__ = f"{inspect.getdoc(method)}\n\n{_keywords_doc(options)}"
        return method

    return named


@contextmanager
def stopped_in_shell(session: Session) -> Iterator[Session]:
    """Ctrl-C and SIGTERM print what is kept, and that the same command resumes."""
    from trex.search.stopping import stoppable

    with stoppable(lambda: [f"stopped; {session.kept}, and the same command resumes"]):
        yield session


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def _python_parameters(options: type[Options]) -> Sequence[inspect.Parameter]:
    """The argument first, then every option as a keyword with its real default."""
    parameters = []
    for name, info in options.model_fields.items():
        is_argument = options.declared(name).is_argument
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if is_argument else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if info.is_required() else info.default
        annotation = object if name == MODEL else info.annotation
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    shown = inspect.Parameter(PROGRESS, inspect.Parameter.KEYWORD_ONLY, default=True, annotation=bool)
    return [*parameters, shown]


def _keywords_doc(options: type[Options]) -> str:
    """The parameters as numpydoc."""
    lines = ["Parameters", "----------"]
    for parameter in _python_parameters(options):
        text = "Show the progress." if parameter.name == PROGRESS else options.declared(parameter.name).help
        default = (
            "" if parameter.default is inspect.Parameter.empty else f", default {_shown(parameter.default)}"
        )
        shown = inspect.formatannotation(parameter.annotation).replace("pathlib.", "")
        lines += [f"{parameter.name} : {shown}{default}", f"    {text}"]
    return "\n".join(lines)


def _shown(default: object) -> str:
    return repr(str(default) if isinstance(default, Path) else default)


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
