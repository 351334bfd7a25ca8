//! The time of day and how the page's reader writes it.

use std::cell::{Cell, RefCell};

use wasm_bindgen::JsValue;

/// Now, Unix epoch in milliseconds.
pub(crate) fn epoch_ms() -> i64 {
    // Milliseconds since 1970 fit a whole number for 200,000 years.
    #[allow(clippy::cast_possible_truncation)]
    {
        js_sys::Date::now() as i64
    }
}

/// Now by the clock of the server whose sessions are listed, as far as it said what that is.
pub(crate) fn server_ms() -> i64 {
    epoch_ms().saturating_add(SERVER_IS_AHEAD_MS.get())
}

/// What the reader's own clock says when the server's says this.
pub(crate) fn own_ms(server_ms: i64) -> i64 {
    server_ms.saturating_sub(SERVER_IS_AHEAD_MS.get())
}

/// The server said what time it is, between when it was asked and now.
pub(crate) fn learn_server_ms(now_ms: i64, asked_ms: i64) {
    let (from_ms, to_ms) = (asked_ms - SAME_MS, epoch_ms() + SAME_MS);
    SERVER_IS_AHEAD_MS.set(now_ms.saturating_sub(now_ms.clamp(from_ms.min(to_ms), to_ms)));
}

/// Clocks that differ by less are taken for the same.
const SAME_MS: i64 = 5_000;

thread_local! {
    static SERVER_IS_AHEAD_MS: Cell<i64> = const { Cell::new(0) };
    static FORMATS: RefCell<[Option<js_sys::Function>; 6]> = const { RefCell::new([const { None }; 6]) };
}

/// A way of writing times, and what it writes.
#[derive(Clone, Copy)]
enum Form {
    Time,
    Seconds,
    Day,
    DayAndTime,
    YearAndTime,
    Year,
}

/// Whether a time was written before: the first takes the browser long.
pub(crate) fn is_learned() -> bool {
    FORMATS.with_borrow(|formats| formats.iter().any(Option::is_some))
}

/// Has the next rows be written with their times at once, for whoever reads all of them rather than looks at the first.
pub(crate) fn learn() {
    if !is_learned() {
        time_of_day(0);
    }
}

/// Hours and minutes by the reader's locale: `14:26`
pub(crate) fn time_of_day(epoch_ms: i64) -> String {
    format(epoch_ms, Form::Time)
}

/// The same to the second: `14:26:03`
pub(crate) fn time_to_the_second(epoch_ms: i64) -> String {
    format(epoch_ms, Form::Seconds)
}

/// Day and time by the reader's locale, in little room: `21 Nov, 14:26`, of another year its day: `21 Nov 2023`
pub(crate) fn day_and_time(epoch_ms: i64) -> String {
    format(epoch_ms, of_year(epoch_ms, Form::DayAndTime, Form::Year))
}

/// The day alone: `21 Nov`, of another year `21 Nov 2023`
pub(crate) fn day(epoch_ms: i64) -> String {
    format(epoch_ms, of_year(epoch_ms, Form::Day, Form::Year))
}

/// The time, of another day than today with its date: `14:26`, `21 Nov, 14:26`, `21 Nov 2023, 14:26`
pub(crate) fn dated(epoch_ms: i64) -> String {
    let form = match day_of(epoch_ms) == day_of(self::epoch_ms()) {
        true => Form::Time,
        false => of_year(epoch_ms, Form::DayAndTime, Form::YearAndTime),
    };
    format(epoch_ms, form)
}

/// A name for the day of a time where the reader is; its last word is the year.
pub(crate) fn day_of(epoch_ms: i64) -> String {
    date(epoch_ms).to_date_string().into()
}

/// Where the year goes without saying, it is left out.
fn of_year(epoch_ms: i64, this: Form, other: Form) -> Form {
    let (day, today) = (day_of(epoch_ms), day_of(self::epoch_ms()));
    match day.rsplit(' ').next() == today.rsplit(' ').next() {
        true => this,
        false => other,
    }
}

fn date(epoch_ms: i64) -> js_sys::Date {
    // A number of milliseconds is exact in a double.
    #[allow(clippy::cast_precision_loss)]
    js_sys::Date::new(&JsValue::from_f64(epoch_ms as f64))
}

fn format(epoch_ms: i64, form: Form) -> String {
    FORMATS.with_borrow_mut(|formats| {
        let format = formats[form as usize].get_or_insert_with(|| formatter(form));
        format
            .call1(&JsValue::NULL, &date(epoch_ms))
            .ok()
            .and_then(|text| text.as_string())
            .unwrap_or_default()
    })
}

/// Making a formatter is dear (the first 14 to 30 ms, 0.1 ms each after it), using one is cheap.
fn formatter(form: Form) -> js_sys::Function {
    const DAY: [(&str, &str); 2] = [("day", "numeric"), ("month", "short")];
    // An hour has a zero before it where the locale writes one.
    const TIME: [(&str, &str); 2] = [("hour", "numeric"), ("minute", "2-digit")];
    let year: &[_] = &[("year", "numeric")];
    let parts: [&[(&str, &str)]; 3] = match form {
        Form::Time => [&TIME, &[], &[]],
        Form::Seconds => [&TIME, &[("second", "2-digit")], &[]],
        Form::Day => [&DAY, &[], &[]],
        Form::DayAndTime => [&DAY, &TIME, &[]],
        Form::YearAndTime => [&DAY, year, &TIME],
        Form::Year => [&DAY, year, &[]],
    };
    let options = js_sys::Object::new();
    for (name, value) in parts.into_iter().flatten() {
        let _ = js_sys::Reflect::set(&options, &(*name).into(), &(*value).into());
    }
    js_sys::Intl::DateTimeFormat::new(&js_sys::Array::new(), &options).format()
}

/// When today and yesterday began where the reader is.
pub(crate) fn day_starts() -> (i64, i64) {
    let date = js_sys::Date::new_0();
    date.set_hours(0);
    date.set_minutes(0);
    date.set_seconds(0);
    let today_ms = date.set_milliseconds(0);
    // By the calendar, since a day may have 23 hours: the day 0 of a month is the last one of the month before.
    date.set_date(date.get_date().saturating_sub(1));
    let yesterday_ms = date.get_time();
    // Times are whole milliseconds, far below 2^53.
    #[allow(clippy::cast_possible_truncation)]
    {
        (today_ms as i64, yesterday_ms as i64)
    }
}
