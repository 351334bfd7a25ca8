//! How long a call, a turn, or a session in which one runs, has been going on: once a second, while it is shown and the
//! session is live; in a replay, until the moment that is shown.

use chat_feed::units;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leptos::html::span;
use leptos::prelude::*;

use super::Ctx;
use crate::platform::{clock, frame};

const TICK_MS: u32 = 1_000;
/// From here on it stands out.
const LONG_MS: u64 = 30_000;

/// The time since the call.
pub(crate) fn view(ctx: Ctx, called_ms: Option<i64>) -> Option<AnyView> {
    since(ctx, called_ms, ("", None), LONG_MS)
}

/// The time since a turn began.
pub(crate) fn of_turn(ctx: Ctx, started_ms: Option<i64>) -> Option<AnyView> {
    since(ctx, started_ms, ("", None), u64::MAX)
}

/// The time since a session began in which a turn runs; `rest` where it does not go on.
pub(crate) fn of_session(ctx: Ctx, first_ms: Option<i64>, rest: Option<String>) -> Option<AnyView> {
    since(ctx, first_ms, ("", rest), u64::MAX)
}

/// The time since somebody asked; waiting is what stands out about it already.
pub(crate) fn waiting(ctx: Ctx, asked_ms: Option<i64>) -> Option<AnyView> {
    since(ctx, asked_ms, ("waiting ", None), u64::MAX)
}

/// The time since then, behind some words; others where no time passes. It is the reader's now and not the session's, so
/// `serializeRows` leaves it out.
fn since(
    ctx: Ctx,
    from_ms: Option<i64>,
    (before, rest): (&'static str, Option<String>),
    long_ms: u64,
) -> Option<AnyView> {
    let from_ms = from_ms?;
    let moment_ms = move || {
        ctx.try_with_value(|context| context.store.moment_ms())
            .flatten()
    };
    let passed = move || {
        let now_ms = moment_ms().unwrap_or_else(clock::server_ms);
        u64::try_from(now_ms.saturating_sub(from_ms)).unwrap_or_default()
    };
    let now = ArcRwSignal::new(passed());
    let mounted = Arc::new(AtomicBool::new(true));
    let for_end = mounted.clone();
    Owner::on_cleanup(move || for_end.store(false, Ordering::Relaxed));
    let ticking = now.clone();
    leptos::task::spawn_local(async move {
        loop {
            frame::sleep(TICK_MS).await;
            if !mounted.load(Ordering::Relaxed) {
                break;
            }
            ticking.set(passed());
        }
    });
    let moved = ctx.with_value(|context| context.store.moved());
    let text = move || {
        moved.track();
        let looks_back = ctx.try_with_value(|context| context.store.looks_back());
        // A moment passes at its own pace, and not by the second; of one without a time nobody knows.
        let passed_ms = match (moment_ms(), looks_back) {
            (None, Some(true)) => return None,
            (Some(_), _) => passed(),
            (None, _) => now.get(),
        };
        let goes_on = ctx.try_with_value(|context| context.live.get());
        let text = match goes_on.zip(looks_back) {
            Some((true, _) | (_, true)) => units::passed(passed_ms),
            _ => rest.clone(),
        };
        text.map(|text| {
            let class = if passed_ms >= long_ms {
                "warn"
            } else {
                "elapsed"
            };
            span().class(class).child(format!("{before}{text}"))
        })
    };
    Some(span().attr("data-clock", "").child(text).into_any())
}
