//! The script that fetches parts, as it is shipped: short, and with what is small in one file. It fetches the rest of the
//! first part, too, before any other part is used.
//!
//! What several parts share is a module of its own for each set of parts that share it: some fifty, most of them of a few
//! hundred bytes. A request for each costs the page a millisecond, so they lie one after the other in one file, which is
//! fetched with the first of them.

use super::rest;

/// Modules up to this size lie together.
const MOST_BYTES: usize = 8 * 1024;

/// Fetches the rest of the first part: with the first of the other parts, which use it, or at once where something of it
/// is called sooner. It has the same memory and the same tables, and nothing of its own, so that it may be taken twice.
const REST: &str = r#"let restIsHere = false;
let restAsked = undefined;
const restImports = () => ({ ...__wbg_get_imports(), FIRST: wasm });
function fetchRest() {
    if (restAsked === undefined && !restIsHere) {
        const asked = WebAssembly.instantiateStreaming(fetch(new URL("./NAME", import.meta.url)), restImports());
        asked.then(() => { restIsHere = true; }, () => { if (restAsked === asked) restAsked = undefined; });
        restAsked = asked;
    }
    return restAsked;
}
export function FETCH() {
    const request = new XMLHttpRequest();
    request.open("GET", new URL("./NAME", import.meta.url), false);
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
    if (request.status !== 200) throw new Error(`${request.status}`);
    // A loop takes 4 ms for 400 KB where `Uint8Array.from` takes 72.
    const text = request.responseText;
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
    new WebAssembly.Instance(new WebAssembly.Module(bytes), restImports());
    restIsHere = true;
}
"#;

/// Where the first part is whole there is none.
const NO_REST: &str = "const fetchRest = () => {};\n";

/// Fetches a module of its own.
const ALONE: &str = r#"function alone(name) {
    return () => {
        const rest = fetchRest();
        const module = fetch(new URL(name, import.meta.url));
        module.catch(() => {});
        return async (imports) => {
            await rest;
            return WebAssembly.instantiateStreaming(module, imports);
        };
    };
}
"#;

/// Takes a module out of the file that holds the small ones.
const TOGETHER: &str = r#"let small = undefined;
async function fetchSmall() {
    const answer = await fetch(new URL("./NAME", import.meta.url));
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.arrayBuffer();
}
function together(from, length) {
    return () => {
        if (small === undefined) {
            const asked = fetchSmall();
            asked.catch(() => { if (small === asked) small = undefined; });
            small = asked;
        }
        const rest = fetchRest();
        const bytes = small;
        return async (imports) => {
            await rest;
            return WebAssembly.instantiate(new Uint8Array(await bytes, from, length), imports);
        };
    };
}
"#;

/// A script and the files that it fetches.
pub(super) struct Linked {
    pub(super) script: String,
    /// By the names they are fetched under.
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// Takes the splitter's script and modules, by their stems, the rest of the first part, and what each module is to be
/// called, without its ending.
///
/// # Errors
/// When the script fetches a module in another way than it used to.
pub(super) fn shortened(
    script: &str,
    modules: Vec<(String, Vec<u8>)>,
    rest: Option<Vec<u8>>,
    hash: &str,
    own_name: impl Fn(&str) -> String,
) -> Result<Linked, String> {
    let mut files = Vec::new();
    let mut small = Vec::new();
    let mut script: String = script
        .lines()
        .filter(|line| !line.starts_with("/* "))
        .flat_map(|line| [line, "\n"])
        .collect();
    for (stem, bytes) in modules {
        let fetched = format!(
            "makeLoad(() => {{\n    const src = fetch(new URL(\"./{stem}.wasm\", import.meta.url));\n    src.catch(() => {{}});\n    return async (imports) => (WebAssembly.instantiateStreaming(src, imports));\n}}\n, ["
        );
        let now = if bytes.len() <= MOST_BYTES && stem.starts_with("chunk_") {
            let now = format!("makeLoad(together({}, {}), [", small.len(), bytes.len());
            small.extend_from_slice(&bytes);
            now
        } else {
            let name = format!("{}-{hash}.wasm", own_name(&stem));
            let now = format!("makeLoad(alone(\"./{name}\"), [");
            files.push((name, bytes));
            now
        };
        if !script.contains(&fetched) {
            return Err(format!("the splitter's script does not fetch {stem}"));
        }
        script = script.replace(&fetched, &now);
    }
    let at = script
        .find("function makeLoad")
        .ok_or("the splitter's script has no makeLoad")?;
    if !small.is_empty() {
        let name = format!("shared-{hash}.wasm");
        script.insert_str(at, &TOGETHER.replace("NAME", &name));
        files.push((name, small));
    }
    script.insert_str(at, ALONE);
    match rest {
        None => script.insert_str(at, NO_REST),
        Some(bytes) => {
            let name = format!("rest-{hash}.wasm");
            let fetching = REST.replace("NAME", &name);
            let fetching = fetching
                .replace("FIRST", rest::FIRST)
                .replace("FETCH", rest::FETCH);
            script.insert_str(at, &fetching);
            files.push((name, bytes));
        }
    }
    Ok(Linked { script, files })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetching(stem: &str) -> String {
        format!(
            "/* a, b */\nconst __{stem} = makeLoad(() => {{\n    const src = fetch(new URL(\"./{stem}.wasm\", import.meta.url));\n    src.catch(() => {{}});\n    return async (imports) => (WebAssembly.instantiateStreaming(src, imports));\n}}\n, []);\n"
        )
    }

    #[test]
    fn small_modules_lie_together_and_large_ones_alone() {
        let stems = ["chunk_1", "chunk_2", "chunk_3", "split_app"];
        let script = format!("function makeLoad() {{}}\n{}", stems.map(fetching).concat());
        let lengths = [100, MOST_BYTES + 1, 30, 10];
        let modules = stems.iter().zip(lengths);
        let modules = modules.map(|(stem, len)| ((*stem).to_owned(), vec![7; len]));
        let linked = shortened(
            &script,
            modules.collect(),
            Some(vec![8; 50]),
            "f00",
            |stem| stem.replace('_', "-"),
        )
        .expect("it fetches them all");
        for line in [
            "const __chunk_1 = makeLoad(together(0, 100), []);",
            "const __chunk_2 = makeLoad(alone(\"./chunk-2-f00.wasm\"), []);",
            "const __chunk_3 = makeLoad(together(100, 30), []);",
            "const __split_app = makeLoad(alone(\"./split-app-f00.wasm\"), []);",
        ] {
            assert!(linked.script.contains(line), "{line}: {}", linked.script);
        }
        let files: Vec<(&str, usize)> = linked
            .files
            .iter()
            .map(|(name, bytes)| (&**name, bytes.len()))
            .collect();
        let expected = [
            ("chunk-2-f00.wasm", MOST_BYTES + 1),
            ("split-app-f00.wasm", 10),
            ("shared-f00.wasm", 130),
            ("rest-f00.wasm", 50),
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn a_script_that_fetches_in_another_way_is_told() {
        let modules = vec![("chunk_1".to_owned(), vec![7])];
        let told = shortened(
            "function makeLoad() {}",
            modules,
            None,
            "f00",
            str::to_owned,
        );
        assert_eq!(
            told.err().as_deref(),
            Some("the splitter's script does not fetch chunk_1")
        );
    }
}
