//! Every colour can be read on its ground.

use super::*;

#[test]
fn every_colour_can_be_read_on_its_ground() {
    let steps = [0, 1, 50, 100, 128, 150, 200, 254, 255];
    for theme in [LIGHT, DARK] {
        for color in theme.ansi {
            assert!(
                contrast::contrast(color, theme.ground) >= LEAST_CONTRAST,
                "{color:?}"
            );
        }
        for ground in [
            theme.ground,
            (255, 0, 0),
            (118, 118, 118),
            (128, 128, 128),
            (0, 255, 0),
        ] {
            for red in steps {
                for green in steps {
                    for blue in steps {
                        let lifted = contrast::lift((red, green, blue), ground);
                        let reached = contrast::contrast(lifted, ground);
                        assert!(
                            reached >= LEAST_CONTRAST,
                            "{red},{green},{blue} on {ground:?}: {reached}"
                        );
                    }
                }
            }
        }
    }
    // Every pair of the first 256, however it is turned.
    for foreground in 0..=255 {
        for background in (0..=255).step_by(5) {
            let line = lines_of(&format!(
                "\u{1b}[38;5;{foreground};48;5;{background}ma\u{1b}[7mb\u{1b}[2mc\u{1b}[27md"
            ))
            .remove(0);
            for run in &line.runs {
                for theme in [LIGHT, DARK] {
                    let paint = theme.paint(&run.style);
                    let ground = paint.ground.unwrap();
                    assert!(
                        contrast::contrast(paint.text, ground) >= LEAST_CONTRAST,
                        "{run:?} {paint:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_passes_is_not_changed_and_what_is_lifted_stays_on_its_side() {
    assert_eq!(contrast::lift((0, 0, 255), (255, 255, 255)), (0, 0, 255));
    let (red, green, blue) = contrast::lift((255, 255, 0), (255, 255, 255));
    assert!(red == green && red > blue, "{red},{green},{blue}");
}

#[test]
fn the_theme_s_colours_are_named_and_others_painted() {
    let look = |text: &str| Look::of(&lines_of(text)[0].runs[0].style);
    assert_eq!(look("a"), Look::Plain);
    assert_eq!(look("\u{1b}[1;3ma"), Look::Plain);
    assert_eq!(look("\u{1b}[91ma"), Look::Themed(9));
    assert!(matches!(look("\u{1b}[38;5;99ma"), Look::Painted { .. }));
    // Black on black can be read.
    let Look::Painted { light, dark } = look("\u{1b}[30;40ma") else {
        panic!("painted");
    };
    for paint in [light, dark] {
        assert!(contrast::contrast(paint.text, paint.ground.unwrap()) >= LEAST_CONTRAST);
    }
}
