//! How far reading a long log is, what will become of it, and a button that ends it.
//!
//! The line that grows meanwhile is the bar's.

use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div};
use leptos::prelude::*;

use super::bar::{Reading, Stop};
use crate::platform::part::part;

part! {
    /// What says it: no short log is read for long enough to be told of.
    pub(crate) static READING: fn(&Reading, Stop) -> AnyView = table, in reading, "says how far reading is";
}

fn table() -> fn(&Reading, Stop) -> AnyView {
    view
}

/// In words, over the rows.
fn view(reading: &Reading, stop: Stop) -> AnyView {
    let n_read = units::bytes(reading.n_read);
    let of_bytes = reading.of_bytes.map(units::bytes);
    let of_bytes = of_bytes.map(|of_bytes| format!(" of {of_bytes}"));
    let n_events = units::count(reading.n_events, "event", "events");
    let told = format!("{n_read}{} · {n_events} ", of_bytes.unwrap_or_default());
    let fits = reading.fits.map(units::bytes);
    let fits = fits.map(|fits| div().child(format!("Only about the first {fits} will fit")));
    let stop = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, move |_| stop.with_value(|stop| stop.set(true)))
        .child("Stop");
    div()
        .class("loading__told")
        .child((told, stop, fits))
        .into_any()
}
