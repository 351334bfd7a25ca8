//! How long a call has been running: once a second, while its row is mounted and the session is live.

use chat_feed::units;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leptos::html::span;
use leptos::prelude::*;

use super::Ctx;
use crate::platform::{clock, frame};

const TICK_MS: u32 = 1_000;
/// Nothing is said before.
const SHOWN_FROM_MS: u64 = 1_000;
/// From here on it stands out.
const LONG_MS: u64 = 30_000;

/// The time since the call. It is the reader's now and not the session's, so `serializeRows` leaves it out.
pub(crate) fn view(ctx: Ctx, called_ms: Option<i64>) -> Option<AnyView> {
    let called_ms = called_ms?;
    let passed = move || u64::try_from(clock::epoch_ms() - called_ms).unwrap_or_default();
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
    let text = move || {
        let passed_ms = now.get();
        let live = ctx.try_with_value(|context| context.live.get());
        (live == Some(true) && passed_ms >= SHOWN_FROM_MS).then(|| {
            let class = if passed_ms >= LONG_MS {
                "warn"
            } else {
                "elapsed"
            };
            // Whole seconds: tenths that change once a second say nothing.
            let text = match passed_ms / 1_000 {
                seconds @ 0..10 => format!("{seconds} s"),
                seconds => units::duration(seconds * 1_000),
            };
            span().class(class).child(text)
        })
    };
    Some(span().attr("data-clock", "").child(text).into_any())
}
