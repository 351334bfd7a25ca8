//! What goes by in the wheel's way. The ratios are of the same way in pixels, and pages show unlike many rows in it: one that
//! shows calls as lines draws three rows where one that shows them whole draws one.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::gates::SCROLLED;
use super::report::number;
use super::results::Results;
use super::{BY_HAND, OURS, REACT};

/// One page's way.
#[derive(Debug, PartialEq)]
pub(super) struct Passed {
    page: &'static str,
    /// Rows that went by.
    rows: f64,
    /// The page's thread, in ms a row.
    ms_a_row: f64,
}

/// The pages whose wheel was measured.
pub(super) fn passed(results: &Results) -> Vec<Passed> {
    let figure = |page, name| results.median(page, "replay", SCROLLED, name);
    let of = |page| {
        let way = figure(page, "scroll.travelled")? / figure(page, "height")?;
        let rows = way * figure(page, "rows")?;
        let cpu_ms = figure(page, "scroll.main.cpu")? * 1000.0;
        (rows > 0.0).then(|| Passed {
            page,
            rows,
            ms_a_row: cpu_ms / rows,
        })
    };
    let pages = [OURS, BY_HAND, REACT[0], REACT[1]];
    pages.into_iter().filter_map(of).collect()
}

/// As a table in Markdown; nothing where nothing was measured.
pub(super) fn table(passed: &[Passed]) -> String {
    if passed.is_empty() {
        return String::new();
    }
    let mut table =
        "\nThe wheel's figures are of one way in pixels, in which pages show unlike many rows:\n\n\
                     | page | rows that went by | main-thread ms a row |\n|---|---:|---:|\n"
            .to_owned();
    for it in passed {
        let _ = writeln!(
            table,
            "| {} | {} | {} |",
            it.page,
            number(it.rows.round()),
            number(it.ms_a_row)
        );
    }
    table
}

/// The same for programs.
pub(super) fn figures(passed: &[Passed]) -> Vec<Value> {
    let figures = passed.iter();
    figures
        .map(|it| json!({"page": it.page, "rows": it.rows, "msARow": it.ms_a_row}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::results;
    use super::*;

    #[test]
    fn what_goes_by_is_counted_by_how_tall_rows_are() {
        let wheel = |height: u32, cpu: f64| json!({"rows": 1000, "height": height, "scroll": {"travelled": 5000, "main": {"cpu": cpu}}});
        let results = results::tests::of(&[
            ("replay", SCROLLED, OURS, wheel(50_000, 0.3)),
            ("replay", SCROLLED, BY_HAND, wheel(100_000, 0.2)),
            (
                "replay",
                SCROLLED,
                REACT[0],
                json!({"rows": 1000, "height": 0}),
            ),
        ]);
        let passed = passed(&results);
        assert_eq!(passed.len(), 2, "{passed:?}");
        let table = table(&passed);
        assert!(table.contains("| ours | 100 | 3 |"), "{table}");
        assert!(table.contains("| c-vanilla | 50 | 4 |"), "{table}");
        assert_eq!(figures(&passed)[0]["rows"], 100.0);
        assert_eq!(super::table(&[]), "");
    }
}
