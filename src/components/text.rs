//! The assistant's text: paragraphs, headings, code. One text node, which grows in place while the text streams.

use chat_feed::{Block, Feed, TextBlock, TextKind};
use leptos::ev;
use leptos::html::{button, div, p, pre, span};
use leptos::prelude::*;

use super::icon::{Icon, icon};
use crate::platform::dom;

/// A row of text.
pub(crate) fn view(feed: &Feed, block: &Block, part: &TextBlock) -> AnyView {
    let text = feed.text(block.id).to_owned();
    let caret = part
        .streaming
        .then(|| span().class("caret").attr("aria-hidden", "true"));
    match &part.kind {
        TextKind::Paragraph => p().class("text grows").child((text, caret)).into_any(),
        TextKind::Heading(level) => div()
            .class(if *level <= 2 {
                "text heading heading--large grows"
            } else {
                "text heading grows"
            })
            .attr("role", "heading")
            .attr("aria-level", level.to_string())
            .child(text)
            .into_any(),
        TextKind::Code {
            language,
            begins,
            ends,
        } => {
            let class = match (*begins, *ends) {
                (true, true) => "code code--begins code--ends",
                (true, false) => "code code--begins",
                (false, true) => "code code--ends",
                (false, false) => "code",
            };
            let label = if language.is_empty() {
                "Code".to_owned()
            } else {
                format!("Code, {language}")
            };
            let head = begins.then(|| code_head(language, text.clone()));
            let lines = pre()
                .class("code__lines grows")
                .attr("tabindex", "0")
                .attr("role", "region")
                .attr("aria-label", label)
                .child((text, caret));
            div().class(class).child((head, lines)).into_any()
        }
    }
}

fn code_head(language: &str, text: String) -> impl IntoView {
    let copy = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", "Copy code")
        .on(ev::click, move |_| dom::copy_text(&text))
        .child(icon(Icon::Copy));
    div()
        .class("code__head")
        .child((span().child(language.to_owned()), copy))
}
