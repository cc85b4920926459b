"""Resolve a plan with a catalog and a selection, without contacting a host or reading a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from asct.diagnostics.model import Diagnostic, errors
from asct.errors import PlanError, SafetyError, UsageError
from asct.plan.model import Plan
from asct.planner.context import NOWHERE, JobDraft, ResolveContext
from asct.planner.costs import check_costs, check_points, check_timeouts
from asct.planner.expectations import checks
from asct.planner.identity import job_seed, plan_hash
from asct.planner.layers import check_shared
from asct.planner.model import Check, Job, ResolvedPlan
from asct.planner.needs import DependencyResolver, ordered
from asct.planner.points import draft_job
from asct.planner.safety import check_consent, check_writes
from asct.planner.selection import Selection, check_overrides, hosts_of, select
from asct.sdk.benchmark import Catalog

_USAGE = frozenset({"E203", "E207"})
_SAFETY = frozenset({"E251", "E252"})


class Resolution(NamedTuple):
    """The result of resolving a plan: the resolved plan if there are no errors, and all findings."""

    plan: ResolvedPlan | None
    diagnostics: tuple[Diagnostic, ...]

    def required(self) -> ResolvedPlan:
        """Return the resolved plan.

        Raises UsageError if the selection or `--set` is wrong, SafetyError if the only error is a missing consent
        entry, and PlanError for all other errors. Each exception contains all findings.
        """
        if self.plan is not None:
            return self.plan
        codes = {item.code for item in errors(self.diagnostics)} - {"E109"}
        if codes <= _USAGE:
            raise UsageError(*self.diagnostics)
        if codes <= _SAFETY:
            raise SafetyError(*self.diagnostics)
        raise PlanError(*self.diagnostics)


def resolve(
    plan: Plan,
    catalog: Catalog,
    selection: Selection | None = None,
    wider: Callable[[], Iterable[Plan]] = tuple,
) -> Resolution:
    """Resolve the jobs and expectations of a plan, limited by a selection, and collect all errors.

    `wider` returns the plan as written and the plan with each profile applied. If an expectation matches nothing in
    `plan` but something in one of these plans, it is marked as not planned. An expectation that matches nothing in any
    of the plans is an error.
    """
    context = ResolveContext(plan, catalog, wider=cache(lambda: [_drafted(item, catalog) for item in wider()]))
    plan = context.plan
    check_shared(context)
    check_consent(plan, context.findings)
    drafts = _drafts(context, selection or Selection())
    check_overrides(context, drafts)
    found_checks = checks(context, drafts)
    sound = [draft for draft in drafts if draft.job.points and draft.job.host]
    jobs = [draft.job for draft in sound]
    whole = selection in (None, Selection()) and not (plan.gaps or context.findings.errors)
    check_points(plan, jobs, context.findings)
    check_costs(plan, jobs, catalog, context.findings)
    check_writes(plan, jobs, catalog, context.findings, whole=whole)
    check_timeouts(sound, context.findings)
    diagnostics = context.findings.all()
    if errors(diagnostics):
        return Resolution(None, diagnostics)
    return Resolution(_resolved(plan, jobs, found_checks, diagnostics), diagnostics)


def _drafts(context: ResolveContext, selection: Selection) -> list[JobDraft]:
    """Return the selected jobs and the jobs that they need, in order."""
    plan = context.plan
    where = {entry.id: hosts_of(entry, plan, context.findings) or [NOWHERE.name] for entry in plan.benchmarks}
    pairs = select(plan, selection, where, context.findings)
    found = DependencyResolver(context, where, lambda entry, host: draft_job(context, entry, host)).resolve(pairs)
    return ordered(found, context)


def _drafted(plan: Plan, catalog: Catalog) -> tuple[ResolveContext, Sequence[JobDraft]]:
    context = ResolveContext(plan, catalog)
    return context, _drafts(context, Selection())


def _resolved(
    plan: Plan, jobs: Sequence[Job], found: Sequence[Check], diagnostics: tuple[Diagnostic, ...]
) -> ResolvedPlan:
    used = {job.host for job in jobs}
    hosts = {name: spec._replace(vars={}) for name, spec in plan.hosts.items() if name in used}
    baseline = None if plan.baseline is None else str(plan.baseline.value)
    digest = plan_hash(jobs, hosts, found, plan.safety, baseline, confirm=plan.confirm)
    return ResolvedPlan(
        name=plan.name,
        description=plan.description,
        path=plan.path,
        text=plan.text,
        hash=digest,
        hosts=hosts,
        jobs=tuple(job._replace(seed=job_seed(digest, job)) for job in jobs),
        checks=tuple(found),
        report=plan.report,
        safety=plan.safety,
        baseline=baseline,
        confirm=plan.confirm,
        diagnostics=diagnostics,
        limit_s=plan.limits.duration_s,
    )
