"""Select benchmarks by name, alias or keyword, as used in the arguments of `asct run` and in `select` in a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import Entry, Plan
from asct.values.suggest import ALIKE, did_you_mean, nearest

if TYPE_CHECKING:
    from asct.sdk.benchmark import Benchmark, Catalog

GROUPS: Final = ("all", "default")
UNNAMED: Final = "qualification"
"""`all` excludes benchmarks with this keyword unless the user specifies them by name or alias."""
_HINT: Final = "`asct list` shows names and keywords"


class Selectable(Protocol):
    """The properties of a benchmark that selection needs. The catalog provides them without importing the benchmark."""

    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> Sequence[str]: ...
    @property
    def keywords(self) -> Sequence[str]: ...
    @property
    def default(self) -> bool: ...
    @property
    def hidden(self) -> bool: ...


S = TypeVar("S", bound=Selectable)


class Chosen(NamedTuple, Generic[S]):
    """A selected benchmark, and the words that select it. These words explain why its job is part of the run."""

    info: S
    words: Sequence[str]

    @property
    def reason(self) -> str:
        """The reason as text, for example ``selected by `storage` ``."""
        if not self.words:
            return "selected by default"
        return f"selected by {', '.join(f'`{word}`' for word in self.words)}"

    @property
    def unnamed(self) -> bool:
        """Whether `all` selects the benchmark, but neither its name nor an alias does."""
        return "all" in self.words and not any(_is_name(word, self.info) for word in self.words)


def chosen_by(
    words: Mapping[str, Span | None],
    benchmarks: Sequence[S],
    findings: Findings,
    code: str = "E913",
    where: str = "",
    known_hint: str = _HINT,
) -> list[Chosen[S]]:
    """Return the benchmarks that `words` (each with its location) select, in catalog order. Report every unknown word
    as an error with the code `code`, and treat the word as the most similar name. The message ends with `where`;
    `known_hint` says what can be selected.

    A word is a name, an alias, a keyword, `all` or `default`; `^word` excludes what the word selects. If all words are
    exclusions, they apply to `default`. A hidden benchmark can be selected only by its name or alias.
    """
    known = [*GROUPS, *(name for item in benchmarks for name in (item.name, *item.aliases, *item.keywords))]
    matches: dict[str, set[str]] = {}
    for word, span in words.items():
        bare = word.removeprefix("^")
        found = _matching(bare, benchmarks)
        if not found:
            message = f"no benchmark, alias or keyword is named `{bare}`{where}"
            findings.error(code, message, span, did_you_mean(bare, known, known_hint))
            found = _matching(nearest(bare, known, ALIKE) or "", benchmarks)
        if not found:
            findings.gaps.add(("benchmarks",))
        matches[word] = {item.name for item in found}
    included = [word for word in words if not word.startswith("^")]
    chosen = {name for word in included for name in matches[word]}
    if not included:
        chosen = {item.name for item in _matching("default", benchmarks)}
    chosen -= {name for word in words if word.startswith("^") for name in matches[word]}
    if not chosen and not findings.hides("benchmarks"):
        excluding = next((word for word in words if included and word.startswith("^")), None)
        hint = f"remove `{excluding}`, which excludes the rest of the selection" if excluding else known_hint
        findings.error(code, f"no benchmark matches `{' '.join(words)}`{where}", words.get(excluding or ""), hint)
    return [
        Chosen(item, [word for word in included if item.name in matches[word]])
        for item in benchmarks
        if item.name in chosen
    ]


def _is_name(word: str, item: Selectable) -> bool:
    return word == item.name or word in item.aliases


def _matching(word: str, benchmarks: Sequence[S]) -> list[S]:
    exact = [item for item in benchmarks if _is_name(word, item)]
    if exact:
        return exact
    visible = [item for item in benchmarks if not item.hidden]
    if word == "all":
        return visible
    if word == "default":
        return [item for item in visible if item.default]
    return [item for item in visible if word in item.keywords]


def selects(word: str, catalog: Catalog) -> bool:
    """Return whether `select: [word]` selects benchmarks."""
    return bool(_matching(word, _benchmarks(catalog)))


def _benchmarks(catalog: Catalog) -> list[Benchmark[Any]]:
    return [one for name in catalog.names() if (one := catalog.get(name)) is not None]


def with_selected(plan: Plan, catalog: Catalog, findings: Findings) -> Plan:
    """Return the plan with an additional entry for each benchmark that `select` selects and that no entry uses yet.
    `all` excludes drive qualifications, which a plan must specify by name or alias; a keyword is not enough.
    """
    if not plan.select:
        return plan
    spans = {str(node.value): node.span for node in plan.select}
    known = {name for entry in plan.benchmarks for name in (entry.id, getattr(catalog.get(entry.uses), "name", ""))}
    entries = [
        Entry(item.info.name, item.info.name, span, span, reason=item.reason)
        for item in chosen_by(spans, _benchmarks(catalog), findings, "E201")
        if item.info.name not in known and not (item.unnamed and UNNAMED in item.info.keywords)
        for span in [spans[item.words[0]] if item.words else plan.select[0].span]
    ]
    return plan._replace(benchmarks=(*plan.benchmarks, *entries))
