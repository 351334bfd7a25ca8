//! Holds the colours of the style sheet to the ratios that people can read (WCAG 2.2, 1.4.3 and 1.4.11), in both themes,
//! on every ground that they stand on. The colours are read from the file that is shipped.

use std::collections::BTreeMap;

const CSS: &str = include_str!("../../style/tokens.css");

/// Text of usual size.
const TEXT: f64 = 4.5;
/// Borders of controls, rings, and what is no text.
const SHAPE: f64 = 3.0;

/// Grounds of code: plain, wells, and the tints of diffs.
const CODE_GROUNDS: [&str; 7] = [
    "bg",
    "bg-subtle",
    "bg-inset",
    "diff-added",
    "diff-added-word",
    "diff-removed",
    "diff-removed-word",
];

const SYNTAX: [&str; 12] = [
    "keyword",
    "string",
    "number",
    "comment",
    "attribute",
    "regexp",
    "function",
    "type",
    "constant",
    "operator",
    "tag",
    "punctuation",
];

/// Light, dark.
type Colour = [[u8; 3]; 2];

#[test]
fn text_can_be_read_on_its_grounds() {
    let usual = colours(CSS);
    let grounds = ["bg", "bg-subtle", "bg-inset"];
    for ink in [
        "fg",
        "fg-muted",
        "fg-subtle",
        "accent",
        "success",
        "warning",
        "danger",
        "thinking",
        "question",
    ] {
        hold(&usual, ink, &["bg"], TEXT);
    }
    for ink in ["fg", "fg-muted", "fg-subtle"] {
        hold(&usual, ink, &grounds, TEXT);
    }
    hold(&usual, "border-strong", &grounds, SHAPE);
    hold(&usual, "accent", &CODE_GROUNDS, SHAPE);
    hold(&usual, "chip-danger-fg", &["chip-danger-bg"], TEXT);
}

#[test]
fn code_can_be_read_on_every_tint_of_both_palettes() {
    let usual = colours(CSS);
    let mut cvd = usual.clone();
    let (_, palette) = CSS
        .split_once("diff-palette=\"cvd\"")
        .expect("there is a palette for the colour-blind");
    cvd.extend(colours(palette));
    assert_ne!(cvd["diff-added"], usual["diff-added"]);
    for palette in [&usual, &cvd] {
        hold(palette, "fg", &CODE_GROUNDS, 7.0);
        for class in SYNTAX {
            hold(palette, &format!("syntax-{class}"), &CODE_GROUNDS, TEXT);
        }
        // Numbers on tints are the muted ones.
        hold(palette, "fg-muted", &["diff-added", "diff-removed"], TEXT);
        hold(palette, "success", &["diff-added"], TEXT);
        hold(palette, "danger", &["diff-removed"], TEXT);
    }
}

#[test]
fn terminals_can_be_read() {
    let usual = colours(CSS);
    for n in 0..16 {
        hold(&usual, &format!("ansi-{n}"), &["bg-inset"], TEXT);
    }
}

#[test]
fn ratios_are_those_of_the_standard() {
    assert!((ratio([0, 0, 0], [255, 255, 255]) - 21.0).abs() < 1e-9);
    assert!((ratio([0x76, 0x76, 0x76], [255, 255, 255]) - 4.54).abs() < 0.01);
    assert_eq!(
        colours("--af-a: light-dark(#010203, #0a0b0c);")["a"],
        [[1, 2, 3], [10, 11, 12]]
    );
}

fn hold(colours: &BTreeMap<String, Colour>, ink: &str, grounds: &[&str], least: f64) {
    let of = |name: &str| {
        *colours
            .get(name)
            .unwrap_or_else(|| panic!("--af-{name} is a colour"))
    };
    for ground in grounds {
        for (theme_idx, theme) in ["light", "dark"].iter().enumerate() {
            let found = ratio(of(ink)[theme_idx], of(ground)[theme_idx]);
            assert!(
                found >= least,
                "--af-{ink} on --af-{ground}, {theme}: {found:.2}, at least {least}"
            );
        }
    }
}

/// Names and colours of `--af-name: light-dark(#rrggbb, #rrggbb);`, the first of each name.
fn colours(css: &str) -> BTreeMap<String, Colour> {
    let mut colours = BTreeMap::new();
    for line in css.lines() {
        let Some((name, value)) = line.trim().split_once(": light-dark(") else {
            continue;
        };
        let Some((light, dark)) = value.trim_end_matches(");").split_once(", ") else {
            continue;
        };
        if let (Some(name), Some(light), Some(dark)) =
            (name.strip_prefix("--af-"), hex(light), hex(dark))
        {
            colours.entry(name.to_owned()).or_insert([light, dark]);
        }
    }
    colours
}

fn hex(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some([part(0)?, part(2)?, part(4)?])
}

fn ratio(a: [u8; 3], b: [u8; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(colour: [u8; 3]) -> f64 {
    let [red, green, blue] = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}
