//! The page as Trunk staged it: what it calls the module, and what it asks for ahead.

use super::PROGRAM;

/// What Trunk called the module.
pub(super) struct Staged {
    /// `agent-feed-6a0.js`.
    pub(super) script: String,
    /// `agent-feed-7b1_bg.wasm`.
    pub(super) wasm: String,
}

impl Staged {
    pub(super) fn of(html: &str) -> Option<Staged> {
        let ending = |end: &str| {
            let names = html.split(['"', '\'', '`', '/']);
            let mut named = names.filter(|name| name.starts_with(PROGRAM) && name.ends_with(end));
            named.next().map(str::to_owned)
        };
        Some(Staged {
            script: ending(".js")?,
            wasm: ending("_bg.wasm")?,
        })
    }
}

/// The page without the link that asks for a script ahead.
pub(super) fn without_preload(html: &str, path: &str) -> Option<String> {
    let named = html.find(&format!("href=\"{path}\""))?;
    let begin = html[..named].rfind("<link ")?;
    let end = named + html[named..].find('>')? + 1;
    Some(format!("{}{}", &html[..begin], &html[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_staged_module_is_known_by_the_page() {
        let html = r#"<link href="./agent-feed-6a0.js"><script>init('./agent-feed-7b1_bg.wasm')"#;
        let staged = Staged::of(html).expect("it names one");
        assert_eq!(staged.script, "agent-feed-6a0.js");
        assert_eq!(staged.wasm, "agent-feed-7b1_bg.wasm");
        assert!(Staged::of("<html></html>").is_none());
    }

    #[test]
    fn what_is_inlined_is_not_asked_for_ahead() {
        let html = r#"<link rel="a" href="./x.js" crossorigin><link rel="a" href="./y.js">"#;
        assert_eq!(
            without_preload(html, "./x.js").as_deref(),
            Some(r#"<link rel="a" href="./y.js">"#)
        );
        assert_eq!(without_preload(html, "./z.js"), None);
    }
}
