//! The time of day and how the page's reader writes it.

use std::cell::RefCell;

use wasm_bindgen::JsValue;

/// Now, Unix epoch in milliseconds.
pub(crate) fn epoch_ms() -> i64 {
    // Milliseconds since 1970 fit a whole number for 200,000 years.
    #[allow(clippy::cast_possible_truncation)]
    {
        js_sys::Date::now() as i64
    }
}

thread_local! {
    static FORMATS: RefCell<Option<[js_sys::Function; 3]>> = const { RefCell::new(None) };
}

/// Whether a time was written before: the first takes the browser long.
pub(crate) fn is_learned() -> bool {
    FORMATS.with_borrow(Option::is_some)
}

/// Hours and minutes by the reader's locale: `14:26`
pub(crate) fn time_of_day(epoch_ms: i64) -> String {
    format(epoch_ms, |[time, _, _]| time)
}

/// The same to the second: `14:26:03`
pub(crate) fn time_to_the_second(epoch_ms: i64) -> String {
    format(epoch_ms, |[_, _, seconds]| seconds)
}

/// Day and time by the reader's locale: `21 Nov, 14:26`
pub(crate) fn day_and_time(epoch_ms: i64) -> String {
    format(epoch_ms, |[_, day, _]| day)
}

fn format(epoch_ms: i64, which: fn(&[js_sys::Function; 3]) -> &js_sys::Function) -> String {
    FORMATS.with_borrow_mut(|formats| {
        let formats = formats.get_or_insert_with(|| {
            let time = [("hour", "2-digit"), ("minute", "2-digit")];
            let [hour, minute] = time;
            [
                formatter(&time),
                formatter(&[("day", "numeric"), ("month", "short"), hour, minute]),
                formatter(&[hour, minute, ("second", "2-digit")]),
            ]
        });
        // A number of milliseconds is exact in a double.
        #[allow(clippy::cast_precision_loss)]
        let date = js_sys::Date::new(&JsValue::from_f64(epoch_ms as f64));
        which(formats)
            .call1(&JsValue::NULL, &date)
            .ok()
            .and_then(|text| text.as_string())
            .unwrap_or_default()
    })
}

/// Making a formatter is dear (the first 14 to 30 ms, 0.1 ms each after it), using one is cheap.
fn formatter(parts: &[(&str, &str)]) -> js_sys::Function {
    let options = js_sys::Object::new();
    for (name, value) in parts {
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
