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
    static FORMATS: RefCell<Option<(js_sys::Function, js_sys::Function)>> = const { RefCell::new(None) };
}

/// Hours and minutes by the reader's locale: `14:26`
pub(crate) fn time_of_day(epoch_ms: i64) -> String {
    format(epoch_ms, |formats| &formats.0)
}

/// Day and time by the reader's locale: `21 Nov, 14:26`
pub(crate) fn day_and_time(epoch_ms: i64) -> String {
    format(epoch_ms, |formats| &formats.1)
}

fn format(
    epoch_ms: i64,
    which: fn(&(js_sys::Function, js_sys::Function)) -> &js_sys::Function,
) -> String {
    FORMATS.with_borrow_mut(|formats| {
        let formats = formats.get_or_insert_with(|| {
            (formatter(&[("hour", "2-digit"), ("minute", "2-digit")]), {
                let parts = [
                    ("day", "numeric"),
                    ("month", "short"),
                    ("hour", "2-digit"),
                    ("minute", "2-digit"),
                ];
                formatter(&parts)
            })
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

/// Making a formatter is dear (0.1 ms), using one is cheap.
fn formatter(parts: &[(&str, &str)]) -> js_sys::Function {
    let options = js_sys::Object::new();
    for (name, value) in parts {
        let _ = js_sys::Reflect::set(&options, &(*name).into(), &(*value).into());
    }
    js_sys::Intl::DateTimeFormat::new(&js_sys::Array::new(), &options).format()
}
