//! The page's own address: what it asks for, and the secret that must not stay in it.

use wasm_bindgen::JsValue;

use super::dom;

/// What is looked for, in the fragment, and what alone is shown.
pub(crate) const FIND: &str = "find";
pub(crate) const ONLY: &str = "only";

/// The value of a query parameter.
pub(crate) fn query(name: &str) -> Option<String> {
    let search = dom::window().location().search().ok()?;
    web_sys::UrlSearchParams::new_with_str(&search)
        .ok()?
        .get(name)
}

/// The value of a parameter in the fragment: `#token=…&session=…`
pub(crate) fn fragment(name: &str) -> Option<String> {
    let hash = dom::window().location().hash().ok()?;
    let parameters = web_sys::UrlSearchParams::new_with_str(hash.strip_prefix('#')?).ok()?;
    parameters.get(name)
}

/// Sets one parameter of the fragment without a step in the history.
pub(crate) fn set_in_fragment(name: &str, value: &str) {
    change_fragment(|parameters| parameters.set(name, value));
}

/// Takes one parameter out of the fragment without a step in the history.
pub(crate) fn remove_from_fragment(name: &str) {
    change_fragment(|parameters| parameters.delete(name));
}

fn change_fragment(change: impl FnOnce(&web_sys::UrlSearchParams)) {
    let hash = dom::window().location().hash().unwrap_or_default();
    let hash = hash.strip_prefix('#').unwrap_or_default();
    if let Ok(parameters) = web_sys::UrlSearchParams::new_with_str(hash) {
        change(&parameters);
        write_fragment(&parameters);
    }
}

/// A step in the history: the page's own address with such a fragment, and a word that the history keeps with it.
pub(crate) fn step(parameters: &[(&str, &str)], kept: Option<&str>) {
    let Ok(written) = web_sys::UrlSearchParams::new() else {
        return;
    };
    for (name, value) in parameters {
        written.append(name, value);
    }
    let Ok(path) = dom::window().location().pathname() else {
        return;
    };
    let kept = kept.map_or(JsValue::NULL, JsValue::from_str);
    if let Ok(history) = dom::window().history() {
        let _ = history.push_state_with_url(&kept, "", Some(&with_parameters(path, &written)));
    }
}

/// The word that the history keeps with the step that is shown.
pub(crate) fn kept() -> Option<String> {
    dom::window().history().ok()?.state().ok()?.as_string()
}

fn write_fragment(parameters: &web_sys::UrlSearchParams) {
    let window = dom::window();
    let (Ok(path), Ok(search)) = (window.location().pathname(), window.location().search()) else {
        return;
    };
    if let Ok(history) = window.history() {
        let kept = history.state().unwrap_or_default();
        let address = with_parameters(path + &search, parameters);
        let _ = history.replace_state_with_url(&kept, "", Some(&address));
    }
}

fn with_parameters(mut address: String, parameters: &web_sys::UrlSearchParams) -> String {
    let text = String::from(parameters.to_string());
    if !text.is_empty() {
        address = address + "#" + &text;
    }
    address
}

/// The page's address with one parameter of its fragment set, which says where to go; neither the secret, nor another place,
/// nor what is looked for is part of it.
pub(crate) fn with_fragment(name: &str, value: &str) -> String {
    with_other_fragment(&address(), |parameters| {
        for other in ["token", "e", "t", FIND, ONLY] {
            parameters.delete(other);
        }
        parameters.set(name, value);
    })
}

/// An address into one of several sessions, made to open that one alone.
pub(crate) fn into_session(address: &str, id: &str) -> String {
    with_other_fragment(address, |parameters| {
        parameters.delete("sessions");
        parameters.set("session", id);
    })
}

fn with_other_fragment(address: &str, change: impl FnOnce(&web_sys::UrlSearchParams)) -> String {
    let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
    let Ok(parameters) = web_sys::UrlSearchParams::new_with_str(fragment) else {
        return address.to_owned();
    };
    change(&parameters);
    with_parameters(address.to_owned(), &parameters)
}

/// The page's address.
pub(crate) fn address() -> String {
    dom::window().location().href().unwrap_or_default()
}

/// The page's own origin: `http://127.0.0.1:8080`
pub(crate) fn origin() -> String {
    dom::window().location().origin().unwrap_or_default()
}

/// An address made whole against the page's own; `None` where it is none.
pub(crate) fn resolve(address: &str) -> Option<String> {
    let base = dom::document().base_uri().ok().flatten()?;
    web_sys::Url::new_with_base(address, &base)
        .ok()
        .map(|url| url.href())
}

/// Whether an address, made whole, has the page's own origin.
pub(crate) fn is_same_origin(address: &str) -> bool {
    web_sys::Url::new(address).is_ok_and(|url| url.origin() == origin())
}

/// Sets the page's title.
pub(crate) fn set_title(title: &str) {
    dom::document().set_title(title);
}
