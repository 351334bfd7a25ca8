//! `cargo xtask page-hook`: what Trunk cannot do itself to the page it has staged.
//!
//! 1. The script that starts the page moves from index.html into a file named after its content, so that the page
//!    lives under a Content-Security-Policy without `'unsafe-inline'`.
//! 2. `agent-feed.js`, whose name never changes, is written beside the hashed module: the one script that other
//!    pages load to have `<agent-feed>`; and its types, `agent-feed.d.ts`.
//! 3. The worker that colours code is put beside them; `highlighter` knows what it is made of.
//! 4. The worker that reads long logs has a program of its own, which is put beside them; `reader` builds it.
//! 5. What is shipped is cut into parts, of which the page fetches one at first; `parts` knows how.
//! 6. Beside each file that is shipped lies the same packed, as servers send it; `packed` does that.
//! 7. The player of exported sessions, which is all of it in one file: `player` knows that.

use std::path::Path;
use std::process::ExitCode;

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::{highlighter, packed, parts, player, reader, workspace};

/// Name by which other pages know the element's script.
const ENTRY_NAME: &str = "agent-feed.js";

/// What those who write such pages in TypeScript take from beside it.
const TYPES_NAME: &str = "agent-feed.d.ts";
const TYPES: &str = include_str!("../../../src/element.d.ts");

/// # Errors
/// When not called by Trunk, or when Trunk writes something else than it used to.
pub(crate) fn run() -> Result<ExitCode, Error> {
    let Some(staging_dir) = std::env::var_os("TRUNK_STAGING_DIR") else {
        return Err(Error::Usage(
            "page-hook is called by Trunk, which sets TRUNK_STAGING_DIR".to_owned(),
        ));
    };
    let public_url = std::env::var("TRUNK_PUBLIC_URL").unwrap_or_else(|_| "/".to_owned());
    // `trunk serve` adds inline scripts of its own; only what is shipped must be free of them.
    let strict = std::env::var("TRUNK_PROFILE").is_ok_and(|profile| profile == "release");
    let staging_dir = Path::new(&staging_dir);
    let root = workspace::root()?;
    let worker = highlighter::script(&root)?;
    let path = staging_dir.join(highlighter::FILE_NAME);
    std::fs::write(&path, worker).map_err(|source| Error::file("write the page", &path, source))?;
    let index_path = staging_dir.join("index.html");
    let mut html = std::fs::read_to_string(&index_path)
        .map_err(|source| Error::file("read the page", &index_path, source))?;
    // While it is worked on the page stays in one piece, which is built sooner.
    let mut inlined = Vec::new();
    let whole = if strict {
        reader::write(&root, staging_dir)?;
        let cut = parts::cut(&root, staging_dir, &html)?;
        (html, inlined) = (cut.html, cut.inlined);
        Some(cut.whole)
    } else {
        None
    };
    let page = prepare(staging_dir, &html, &public_url, strict)?;
    let whole = whole.unwrap_or_else(|| parts::Whole {
        script: staging_dir.join(&page.module),
        wasm: staging_dir.join(&page.wasm),
    });
    if strict {
        packed::write(staging_dir)?;
    }
    player::write(&root, staging_dir, &whole)?;
    for path in inlined.iter().map(|path| staging_dir.join(path)) {
        std::fs::remove_file(&path).map_err(|source| Error::file("remove", &path, source))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn prepare(staging_dir: &Path, html: &str, public_url: &str, strict: bool) -> Result<Page, Error> {
    let index_path = staging_dir.join("index.html");
    let page = Page::from_html(html, public_url, strict).map_err(|why| Error::Failed {
        what: format!("prepare {}", index_path.display()),
        why,
    })?;
    let write = |name: &str, text: &str| {
        let path = staging_dir.join(name);
        std::fs::write(&path, text).map_err(|source| Error::file("write the page", &path, source))
    };
    write(&page.start_name, &page.start_script)?;
    if let Some(entry_script) = &page.entry_script {
        write(ENTRY_NAME, entry_script)?;
    }
    write(TYPES_NAME, TYPES)?;
    // The page goes last: it names only files that are there.
    write("index.html", &page.html)?;
    Ok(page)
}

/// What is written.
#[derive(Debug)]
struct Page {
    html: String,
    start_name: String,
    start_script: String,
    /// The names of the module and of what it loads.
    module: String,
    wasm: String,
    /// None where hashes in file names are off: then the name is taken by the module itself.
    entry_script: Option<String>,
}

impl Page {
    fn from_html(html: &str, public_url: &str, strict: bool) -> Result<Self, String> {
        let script = inline_scripts(html)
            .into_iter()
            .find(|script| script.text.contains("import init"))
            .ok_or(
                "Trunk's inline script (`<script type=\"module\">import init …`) is not in it",
            )?;
        let module =
            file_name(quoted_after(script.text, " from").ok_or("its script imports no module")?);
        let wasm = file_name(
            quoted_after(script.text, "module_or_path:")
                .or_else(|| quoted_after(script.text, "__trunkInitializer(init,"))
                .ok_or("its script names no .wasm file")?,
        );
        let start_script = start_script(script.text);
        let mut fingerprint = Fingerprint::new();
        fingerprint.add(start_script.as_bytes());
        let start_name = format!("start-{}.js", fingerprint.to_hex());
        let tag = format!(r#"<script type="module" src="{public_url}{start_name}"></script>"#);
        let html = format!("{}{tag}{}", &html[..script.start], &html[script.end..]);
        if strict && let Some(other) = inline_scripts(&html).first() {
            let shown: String = other.text.trim().chars().take(60).collect();
            return Err(format!(
                "it has another inline script, which its Content-Security-Policy forbids: {shown}"
            ));
        }
        let entry_script = (module != ENTRY_NAME).then(|| entry_script(module, wasm));
        Ok(Self {
            html,
            start_name,
            start_script,
            module: module.to_owned(),
            wasm: wasm.to_owned(),
            entry_script,
        })
    }
}

/// Where a page remembers that the module was started: the page's own start and the entry both ask here, so that a page
/// that loads both, or one of them twice, starts it once.
const STARTED: &str = r#"globalThis[Symbol.for("turnreel.agent-feed")]"#;

/// Trunk's script, starting through [`STARTED`].
fn start_script(text: &str) -> String {
    let text = text.trim();
    let guarded = text.replace("await init(", "await start(");
    if guarded == text {
        return format!("{text}\n");
    }
    format!(
        "{guarded}\n\nfunction start(options) {{\n  return ({STARTED} ??= init(options));\n}}\n"
    )
}

/// The module that other pages load. All addresses are relative to it, so that it works from another origin.
fn entry_script(module: &str, wasm: &str) -> String {
    format!(
        r#"// Defines <agent-feed>. Loading this more than once, under any address, starts it once.
export default await ({STARTED} ??= start());

async function start() {{
  // Both are asked for at once.
  const module = fetch(new URL("./{wasm}", import.meta.url));
  const {{ default: init }} = await import("./{module}");
  const program = await init({{ module_or_path: module }});
  // To begin, and to do what the page asks for then, are two tasks: no frame waits for both.
  await globalThis.scheduler?.yield?.();
  return program;
}}
"#
    )
}

/// A `<script>` without `src`; `start..end` covers the tags, too.
struct InlineScript<'a> {
    start: usize,
    end: usize,
    text: &'a str,
}

/// Scripts that hold code. Enough HTML for what Trunk and our own index.html write, no more.
fn inline_scripts(html: &str) -> Vec<InlineScript<'_>> {
    // ASCII only, so that byte positions stay those of `html`.
    let lower = html.to_ascii_lowercase();
    let mut scripts = Vec::new();
    let mut from = 0;
    while let Some(found) = lower[from..].find("<script") {
        let start = from + found;
        let Some(tag_len) = lower[start..].find('>') else {
            break;
        };
        let text_start = start + tag_len + 1;
        let Some(text_len) = lower[text_start..].find("</script>") else {
            break;
        };
        let end = text_start + text_len + "</script>".len();
        let tag = &lower[start..text_start];
        let is_code = !tag.contains(" src=")
            && !tag.contains("application/json")
            && !tag.contains("importmap");
        if is_code {
            scripts.push(InlineScript {
                start,
                end,
                text: &html[text_start..text_start + text_len],
            });
        }
        from = end;
    }
    scripts
}

/// Text between the quotes that follow `marker`, of whichever kind; a minifier leaves no space and likes backticks.
fn quoted_after<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    let rest = text[text.find(marker)? + marker.len()..].trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'))?;
    rest[1..].split(quote).next()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Trunk 0.22.1 writes it.
    const STAGED: &str = r#"<!DOCTYPE html><html><head>
<link rel="modulepreload" href="/agent-feed-6a0.js" crossorigin="anonymous"></head><body>
<script type="module">
import init, * as bindings from '/agent-feed-6a0.js';
const wasm = await init({ module_or_path: '/agent-feed-6a0_bg.wasm' });


window.wasmBindings = bindings;


dispatchEvent(new CustomEvent("TrunkApplicationStarted", {detail: {wasm}}));

</script></body></html>"#;

    /// As Trunk 0.22.1 writes it with `minify`.
    const MINIFIED: &str = r#"<!doctype html><html lang=en><script type=module>import init,*as bindings from"/agent-feed-6a0.js";const wasm=await init({module_or_path:`/agent-feed-6a0_bg.wasm`});window.wasmBindings=bindings,dispatchEvent(new CustomEvent(`TrunkApplicationStarted`,{detail:{wasm}}));</script></body></html>"#;

    #[test]
    fn a_minified_script_is_read_as_well() {
        let page = page(MINIFIED);
        assert!(!page.html.contains("import init"), "{}", page.html);
        assert!(page.start_script.contains("await start({module_or_path:"));
        let entry = page.entry_script.expect("names are hashed");
        assert!(entry.contains("import(\"./agent-feed-6a0.js\")"), "{entry}");
        assert!(entry.contains("\"./agent-feed-6a0_bg.wasm\""), "{entry}");
    }

    fn page(html: &str) -> Page {
        Page::from_html(html, "/", true).expect("this page can be prepared")
    }

    #[test]
    fn the_inline_script_moves_to_a_file_named_after_its_content() {
        let page = page(STAGED);
        let tag = format!(
            r#"<script type="module" src="/{}"></script></body></html>"#,
            page.start_name
        );
        assert!(page.html.ends_with(&tag), "{}", page.html);
        assert!(!page.html.contains("import init"), "{}", page.html);
        assert!(
            page.start_script
                .starts_with("import init, * as bindings from '/agent-feed-6a0.js';\n")
        );
        assert!(page.start_script.contains(
            "
const wasm = await start({ module_or_path: '/agent-feed-6a0_bg.wasm' });
"
        ));
        assert!(
            page.start_script.contains("??= init(options)"),
            "{}",
            page.start_script
        );
        let other = super::Page::from_html(&STAGED.replace("6a0", "6a1"), "/", true)
            .expect("it can be prepared");
        assert_ne!(page.start_name, other.start_name);
    }

    #[test]
    fn the_entry_names_module_and_wasm_relative_to_itself() {
        let entry = page(STAGED).entry_script.expect("file names have hashes");
        assert!(
            entry.contains(r#"import("./agent-feed-6a0.js")"#),
            "{entry}"
        );
        assert!(
            entry.contains(r#"new URL("./agent-feed-6a0_bg.wasm", import.meta.url)"#),
            "{entry}"
        );
    }

    #[test]
    fn a_public_url_and_a_nonce_are_kept_and_seen_through() {
        let html = STAGED
            .replace(
                "<script type=\"module\">",
                "<script type=\"module\" nonce=\"{{__N__}}\">",
            )
            .replace("'/agent-feed", "'/below/agent-feed");
        let page = Page::from_html(&html, "/below/", true).expect("this page can be prepared");
        assert!(page.html.contains(r#"src="/below/start-"#), "{}", page.html);
        assert!(
            page.entry_script
                .is_some_and(|entry| entry.contains(r#""./agent-feed-6a0.js""#))
        );
    }

    #[test]
    fn without_hashes_the_module_keeps_its_name() {
        assert!(page(&STAGED.replace("-6a0", "")).entry_script.is_none());
    }

    #[test]
    fn a_page_without_the_script_is_refused_with_the_reason() {
        let why = Page::from_html("<html><body></body></html>", "/", true)
            .expect_err("there is no script");
        assert!(why.contains("is not in it"), "{why}");
    }

    #[test]
    fn a_second_inline_script_is_refused_where_it_would_be_shipped() {
        let html = STAGED.replace("<body>", "<body><script>alert(1)</script>");
        let why = Page::from_html(&html, "/", true).expect_err("there is a second script");
        assert!(why.contains("alert(1)"), "{why}");
        assert!(Page::from_html(&html, "/", false).is_ok());
    }

    #[test]
    fn scripts_that_are_data_or_files_are_no_inline_scripts() {
        let html = r#"<script src="/a.js"></script><script type="application/json">{}</script><SCRIPT>b</SCRIPT>"#;
        let texts: Vec<&str> = inline_scripts(html)
            .iter()
            .map(|script| script.text)
            .collect();
        assert_eq!(texts, ["b"]);
    }
}
