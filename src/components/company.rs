//! Headers of rows that are shown in company, and the line that stands for a settled turn's work.

use chat_feed::arrangement::{CompanyKind, Row, Verbosity, Work};
use chat_feed::{BlockId, TurnIdx, marks, units};
use leptos::html::{div, span};
use leptos::prelude::*;

use super::icon::{Icon, icon_with};
use super::line::{self, Line, failure_chip};
use super::{Ctx, css_parts, elapsed, seen};
use crate::feed_store::FeedStore;
use crate::virtual_list::Dress;

/// More characters of what failed calls were told are no line.
const WHY_CHARS: usize = 200;

/// The header of a company.
pub(crate) fn view(ctx: Ctx, head: BlockId) -> AnyView {
    let told = ctx.with_value(|context| {
        let company = context.store.company(head)?;
        let cwd = context.store.feed().session().cwd.clone();
        Some((company, context.store.is_open(Row::Company(head)), cwd))
    });
    let Some((company, open, cwd)) = told else {
        return ().into_any();
    };
    let took = company.duration_ms.and_then(units::told_duration);
    let running = (company.running > 0).then(|| {
        let word = units::count(u64::from(company.running), "running", "running");
        span().class("running").child((
            icon_with(Icon::Running, "icon icon--running"),
            word,
            elapsed::view(ctx, company.running_since_ms),
        ))
    });
    let waiting = (company.waiting > 0).then(|| {
        let word = format!("{} waiting", company.waiting);
        span()
            .class("running warn")
            .child((icon_with(Icon::Clock, "icon warn"), word))
    });
    let is_done = company.running == 0 && company.waiting == 0;
    let failed = did_not_go_well(company.failed, company.denied);
    let line = match company.kind {
        CompanyKind::Parallel => {
            let took = took.filter(|_| is_done).map(lasted);
            let words = format!("{} in parallel", company.members);
            return div().class("parallel-line").child((words, took)).into_any();
        }
        CompanyKind::Explored { files, searches } => {
            let verb = match is_done {
                true => "Explored",
                false => "Exploring",
            };
            let files = (files > 0).then(|| units::count(u64::from(files), "file", "files"));
            let searches =
                (searches > 0).then(|| units::count(u64::from(searches), "search", "searches"));
            let parts: Vec<String> = files.into_iter().chain(searches).collect();
            let what = (span().class("verb").child(verb), " ", parts.join(", "));
            Line::new(Icon::Search, what).running((waiting, running, failed))
        }
        CompanyKind::Edited {
            file_path,
            lines_added,
            lines_removed,
        } => {
            let path = units::below(&file_path, cwd.as_deref()).to_owned();
            let what = (
                span()
                    .class("object mono")
                    .attr("title", marks::written_out(&file_path))
                    .child(seen::text(path)),
                format!(" · {} edits", company.members),
            );
            let counts = line::counts(lines_added, lines_removed);
            Line::new(Icon::Pencil, what).outcome((counts, failed))
        }
        CompanyKind::Failed { tool_name, why } => {
            let words = format!("{} × {tool_name}", company.members);
            let why = span()
                .class("object")
                .child(seen::text(units::first_line(&why, WHY_CHARS)));
            let what = (span().class("verb").child(seen::text(words)), " ", why);
            Line::new(Icon::Pencil, what)
                .icon_class("icon icon--failed")
                .outcome(failed)
        }
    };
    line.time(took.unwrap_or_default()).toggles(open)
}

/// How many calls failed, and how many were not let run.
fn did_not_go_well(failed: u32, denied: u32) -> impl IntoView {
    let failed = (failed > 0).then(|| failure_chip(format!("{failed} failed")));
    let denied = (denied > 0).then(|| {
        span()
            .class("outcome--stopped")
            .child(format!("{denied} denied"))
    });
    (failed, denied)
}

/// How the header of a company is dressed.
pub(crate) fn dress(store: &FeedStore, head: BlockId) -> Dress {
    let company = store.company(head);
    let failed = company.as_ref().is_some_and(|company| company.failed > 0);
    let (class, kind, label) = match company.map(|company| company.kind) {
        Some(CompanyKind::Explored { .. }) => ("row rail company", "search", "Group of reads"),
        Some(CompanyKind::Edited { .. }) => ("row rail company", "edit", "Group of edits"),
        Some(CompanyKind::Failed { .. }) => ("row rail company", "edit", "Group of failed edits"),
        Some(CompanyKind::Parallel) | None => ("row company parallel", "other", "In parallel"),
    };
    let depth = store.feed().block(head).depth.min(3).to_string();
    let status = if failed { "failed" } else { "done" };
    Dress {
        class: class.to_owned(),
        attributes: vec![
            ("data-depth", depth),
            ("part", css_parts::ITEM.to_owned()),
            ("data-kind", kind.to_owned()),
            ("data-status", status.to_owned()),
            ("aria-label", label.to_owned()),
        ],
    }
}

/// Marks a row that is shown in company.
pub(crate) fn dress_member(store: &FeedStore, block: BlockId, dress: &mut Dress) {
    let Some(head) = store.company_of(block) else {
        return;
    };
    let parallel = store
        .company(head)
        .is_some_and(|company| company.kind == CompanyKind::Parallel);
    dress.class.push_str(match parallel {
        true => " parallel",
        false => " member",
    });
}

/// `14 steps · 3 files edited · 2 commands · 4m 12s`
pub(crate) fn work_view(ctx: Ctx, turn: TurnIdx) -> AnyView {
    let told = ctx.with_value(|context| {
        let work = context.store.work(turn)?;
        let open = context.store.is_open(Row::Work(turn));
        let quiet = context.store.mode().verbosity == Verbosity::Quiet;
        let is_undone = context.store.feed().turn(turn).is_undone();
        Some((work, open, quiet && !open, is_undone))
    });
    let Some((work, open, quiet, is_undone)) = told else {
        return ().into_any();
    };
    let failed = did_not_go_well(work.failed, work.denied);
    let took = work.duration_ms.and_then(units::told_duration).map(lasted);
    let words = match quiet {
        true => format!("{} hidden", told_steps(&work)),
        false => work_words(&work),
    };
    // Its answer is behind the line as well.
    let words = match (is_undone, work.steps) {
        (false, _) => words,
        (true, 0) => "Undone turn".to_owned(),
        (true, _) => format!("Undone turn · {words}"),
    };
    let took = took.filter(|_| !quiet);
    Line::new(Icon::Chevron, (words, took))
        .icon_class("icon icon--chevron")
        .outcome(failed)
        .folds(open)
}

/// How the line of a turn's work is dressed.
pub(crate) fn dress_work(turn: TurnIdx) -> Dress {
    Dress {
        class: "row work".to_owned(),
        attributes: vec![
            ("data-depth", "0".to_owned()),
            ("part", css_parts::ITEM.to_owned()),
            ("data-turn", turn.0.to_string()),
            ("aria-label", "Work of the turn".to_owned()),
        ],
    }
}

/// How long it took, behind other words.
fn lasted(took: String) -> impl IntoView {
    span().attr("data-time", "").child(format!(" · {took}"))
}

fn told_steps(work: &Work) -> String {
    match work.steps {
        0 => "Thoughts".to_owned(),
        steps => units::count(u64::from(steps), "step", "steps"),
    }
}

fn work_words(work: &Work) -> String {
    let told =
        |count: u32, one, many| (count > 0).then(|| units::count(u64::from(count), one, many));
    let parts = [
        Some(told_steps(work)),
        told(work.files_edited, "file edited", "files edited"),
        told(work.reads, "read", "reads"),
        told(work.commands, "command", "commands"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}
