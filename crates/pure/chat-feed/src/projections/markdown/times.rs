//! Durations and times as words.

/// A duration in words.
pub(super) fn duration(duration_ms: u64) -> String {
    // Rounded as on the page.
    let tenths = duration_ms.saturating_add(50) / 100;
    let seconds = duration_ms.saturating_add(500) / 1_000;
    match duration_ms {
        0..1_000 => format!("{duration_ms} ms"),
        1_000..59_950 => format!("{}.{} s", tenths / 10, tenths % 10),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// A time as `2026-01-31 23:59:59 UTC`.
pub(super) fn utc(at_ms: i64) -> String {
    let seconds = at_ms.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to a date by eras of 400 years that begin on 1 March.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}
