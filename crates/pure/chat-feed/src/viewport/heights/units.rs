//! Heights as they are kept: whole units, and for each row a flag that says whether it was measured.

/// Heights are kept in 1/64 px.
pub(super) const UNITS_PER_PX: f64 = 64.0;
/// The flag of a measured height; 31 bits remain, 33.5 million px a row, the tallest element of any browser.
pub(super) const MEASURED: u32 = 1 << 31;

/// The height without its flag.
pub(super) fn units(height: u32) -> u32 {
    height & !MEASURED
}

/// Anything a caller may hold as a height; what is no number or below 0 counts as 0.
pub(super) fn to_units(height_px: f64) -> u32 {
    // The cast saturates, and turns NaN into 0.
    ((height_px * UNITS_PER_PX).round() as u32).min(MEASURED - 1)
}

/// Units in px.
pub(super) fn to_px(units: i64) -> f64 {
    units as f64 / UNITS_PER_PX
}
